// Writes the files of the wire. Fields lie in the order of the table, each aligned to its size, like the members of a
// C++ struct. A message is a whole number of words.
import { detachedBit, firstSlot, groups, keptLayouts, layoutSlot, maxNdim, statuses, wireWords } from './messages.mjs';

const scalars = {
  u8: { bytes: 1, c: 'uint8_t', array: 'u8', value: 'number' },
  u32: { bytes: 4, c: 'uint32_t', array: 'u32', value: 'number' },
  i32: { bytes: 4, c: 'int32_t', array: 'i32', value: 'number' },
  f64: { bytes: 8, c: 'double', array: 'f64', value: 'number' },
  u64: { bytes: 8, c: 'uint64_t', array: 'u64', value: 'bigint' },
  i64: { bytes: 8, c: 'int64_t', array: 'i64', value: 'bigint' },
  // The address of a native object: in JavaScript the double with the same bits (src/tvm-ffi/codec/any.ts).
  address: { bytes: 8, c: 'uint64_t', array: 'f64', value: 'number' },
};

const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const roundUp = (value, step) => Math.ceil(value / step) * step;

const wireTensor = groups.flatMap((group) => group.messages).find((message) => message.name === 'WireTensor');

function layOut({ fields }) {
  let end = 0;
  const placed = fields.map(([name, type, comment, length = 1, place = undefined]) => {
    const { bytes, size } =
      type === 'tensor'
        ? { bytes: 8, size: layOut(wireTensor).bytes }
        : { ...scalars[type], size: scalars[type]?.bytes };
    if (size === undefined) throw new Error(`${name} has the unknown type ${type}`);
    const offset = place ?? roundUp(end, bytes);
    end = offset + size * length;
    return { name, type, comment, length, offset };
  });
  return { placed, bytes: roundUp(end, 8) };
}

const origin = 'Written by "npm run wire" from scripts/wire/messages.mjs; change it there.';

const capitalised = (name) => `${name[0].toUpperCase()}${name.slice(1)}`;

/** The TypeScript of a field: functions that read it and write it in a slot or, for a message with a place of its own, there. */
function typescriptField({ at, block }, { name, type, comment, length, offset }) {
  const slot = at === undefined ? ['slot: number'] : [];
  const sum = (...terms) => terms.filter((term) => term !== 0).join(' + ') || '0';
  const doc = `  /** ${capitalised(comment)}. */`;
  const word = (title) =>
    `${title}\n  ${name}At: (${slot}): number => ${at === undefined ? sum('slot', offset / 8) : at + offset / 8},`;
  if (type === 'tensor') return [word(doc)];
  const { bytes, value } = scalars[type];
  const array = block === undefined ? scalars[type].array : block;
  const isArray = length !== 1;
  const scale = 8 / bytes;
  const start =
    at === undefined ? [scale === 1 ? 'slot' : `slot * ${scale}`, offset / bytes] : [at * scale + offset / bytes];
  const index = sum(...start, ...(isArray ? ['i'] : []));
  const parameters = [...slot, ...(isArray ? ['i: number'] : [])];
  const functions = [
    `${doc}\n  ${name}: (${parameters.join(', ')}): ${value} => ${array}[${index}] as ${value},`,
    `  set${capitalised(name)}: (${[...parameters, `value: ${value}`].join(', ')}): void => {\n    ${array}[${index}] = value;\n  },`,
  ];
  if (isArray && block !== undefined) functions.push(`  ${name.toUpperCase()}_LENGTH: ${length},`);
  if (isArray && type === 'u8') {
    const byte = sum('slot * 8', offset);
    return [
      ...functions,
      `  /** The byte of the wire where they begin. */\n  ${name}At: (slot: number): number => ${byte},`,
    ];
  }
  return isArray && bytes === 8 ? [...functions, word('  /** The word where they begin. */')] : functions;
}

function typescriptMessage(message) {
  const { placed, bytes } = layOut(message);
  if (message.block !== undefined) return typescriptBlock(message, placed, bytes);
  // Slots begin at every second word, because some values need 16-byte alignment.
  const size = roundUp(bytes, 16) / 8;
  const words = `  /** The size of its slot. */\n  WORDS: ${size},`;
  const places = [
    message.isFollowed &&
      `  /** The word after it, where values begin. */\n  end: (slot: number): number => slot + ${size},`,
    message.isPushed &&
      `  /** The slot of the one that native code pushed last, from the first free word. */\n  below: (top: number): number => top - ${size},`,
    message.isElement &&
      `  /** The word of number \`i\` of those that follow each other from \`first\` on. */\n  at: (first: number, i: number): number => first + i * ${size},`,
  ].filter(Boolean);
  const fields = placed.flatMap((field) => typescriptField(message, field));
  return `/** ${message.comment} */\nexport const ${message.name} = {\n${[words, ...places, ...fields].join('\n')}\n};\n`;
}

/** A message in memory of its own, whose fields are all u32. */
function typescriptBlock({ name, comment, block }, placed, bytes) {
  const fields = placed.flatMap((field) => typescriptField({ at: 0, block }, field));
  return `const ${block} = new Uint32Array(${bytes / 4});

/** ${comment} */
export const ${name} = {
  buffer: ${block}.buffer,
${fields.join('\n')}
};
`;
}

/** The size and place of a message, and the index of each field in the array of its type: for tests with a wire of their own. */
export function indicesOf(name) {
  const message = groups.flatMap((group) => group.messages).find((other) => other.name === name);
  const { placed, bytes } = layOut(message);
  const indices = placed.map(({ name, type, offset }) => [name, offset / (scalars[type]?.bytes ?? 8)]);
  return { ...Object.fromEntries(indices), AT: message.at, WORDS: roundUp(bytes, 16) / 8 };
}

const upper = (name) => `k${name[0].toUpperCase()}${name.slice(1)}`;

function typescriptEnum({ name, comment, values }) {
  const lines = values.map(([value, meaning, number], i) => `  ${value}: ${number ?? i}, // ${meaning}`);
  return `/** ${comment} */\nexport const ${name} = {\n${lines.join('\n')}\n} as const;\n`;
}

function cppEnum({ name, comment, values, isScoped }) {
  const lines = values.map(([value, meaning, number], i) => `  // ${meaning}\n  ${upper(value)} = ${number ?? i},`);
  const type = values.some(([, , number]) => number < 0) ? 'int32_t' : 'uint32_t';
  return `// ${comment}\nenum ${isScoped ? 'class ' : ''}${name} : ${type} {\n${lines.join('\n')}\n};\n`;
}

/** The arrays over the wire that the messages of a group use. */
function arraysOf({ messages }) {
  const used = messages.flatMap(({ fields }) => fields.map(([, type]) => scalars[type]?.array));
  return Object.values(scalars)
    .map(({ array }) => array)
    .filter((array, i, all) => all.indexOf(array) === i && used.includes(array))
    .sort();
}

/** The file of numbers that do not belong to a message. */
function typescriptConstants() {
  const status = statuses.map((name, number) => `  ${name} = ${number},`).join('\n');
  return `/**
 * Numbers of the wire.
 * ${origin}
 *
 * @module
 */

/** The wire itself. */
export const enum Wire {
  WORDS = ${wireWords}, // of eight bytes
  FIRST_SLOT = ${firstSlot}, // where requests begin, except the LayoutRequest
  KEPT_LAYOUTS = ${keptLayouts}, // the number of layouts that native code keeps
  DETACHED = ${detachedBit}, // added to the handle of a released storage whose ArrayBuffer JavaScript has detached
}

/** Outcomes of requests. */
export const enum Status {
${status}
}
`;
}

function typescript(group, isFirst) {
  const head = `/**
 * Messages on the wire: functions that read and write the fields of the message in a slot. Engines inline functions as
 * short as these.
 * ${origin}
 *
 * @module
 */
`;
  const memory = isFirst ? './memory.js' : '../native/wire/memory.js';
  const imports = `import { wire } from '${memory}';\n\nconst { ${arraysOf(group).join(', ')} } = wire;\n`;
  const enums = (group.enums ?? []).map(typescriptEnum);
  return [head, imports, ...enums, ...group.messages.map(typescriptMessage)].join('\n');
}

function cppMessage(message) {
  const { placed: all, bytes } = layOut(message);
  const placed = all.filter(({ length }) => length > 0); // C++ has no arrays of length 0
  const fields = placed.map(({ name, type, comment, length }) => {
    const declared = type === 'tensor' ? 'WireTensor' : scalars[type].c;
    return `  // ${comment}\n  ${declared} ${snake(name)}${length > 1 ? `[${length}]` : ''};`;
  });
  const checks = placed.map(
    ({ name, offset }) => `static_assert(offsetof(${message.name}, ${snake(name)}) == ${offset});`,
  );
  checks.push(`static_assert(sizeof(${message.name}) == ${bytes});`);
  return `// ${message.comment}\nstruct alignas(8) ${message.name} {\n${fields.join('\n')}\n};\n${checks.join('\n')}\n`;
}

function header(group, isFirst) {
  const status = statuses.map((name, number) => `  k${name[0].toUpperCase()}${name.slice(1)} = ${number},`).join('\n');
  const constants = `// Words of eight bytes.
static const uint32_t kWireWords = ${wireWords};

// Where the LayoutRequest is.
static const uint32_t kLayoutSlot = ${layoutSlot};

// Where other requests begin.
static const uint32_t kFirstSlot = ${firstSlot};

// The number of layouts that an instance keeps, a power of two.
static const uint32_t kKeptLayouts = ${keptLayouts};

// Added to the handle of a released storage whose ArrayBuffer JavaScript has detached.
static const uint32_t kDetached = ${detachedBit}u;

static const int32_t kMaxNdim = ${maxNdim};

// Outcomes of requests.
enum Status : int32_t {
${status}
};
`;
  const includes = isFirst ? '#include <stddef.h>\n#include <stdint.h>\n' : '#include "../wire/wire_layout.h"\n';
  const parts = [
    `// Messages in slots of the wire. ${origin}\n#pragma once\n`,
    includes,
    `namespace ${group.namespace} {\n`,
    ...(isFirst ? [constants] : []),
    ...(group.enums ?? []).map(cppEnum),
    ...group.messages.filter(({ isForeign }) => !isForeign).map(cppMessage),
    `}  // namespace ${group.namespace}\n`,
  ];
  return parts.join('\n');
}

/** The path and text of every file. */
export function layoutFiles() {
  const files = groups.flatMap((group, index) => [
    [group.typescript, typescript(group, index === 0)],
    [group.header, header(group, index === 0)],
  ]);
  return [['src/native/wire/constants.ts', typescriptConstants()], ...files];
}
