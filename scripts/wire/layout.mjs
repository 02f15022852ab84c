// Writes the files of the wire. Fields lie in the order of the table, each aligned to its size, like the members of a
// C++ struct. A message is a whole number of words.
import { firstSlot, groups, keptLayouts, maxNdim, statuses, wireWords } from './messages.mjs';

const scalars = {
  u32: { bytes: 4, c: 'uint32_t' },
  i32: { bytes: 4, c: 'int32_t' },
  f64: { bytes: 8, c: 'double' },
  u64: { bytes: 8, c: 'uint64_t' },
};

const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const roundUp = (value, step) => Math.ceil(value / step) * step;

const wireTensor = groups.flatMap((group) => group.messages).find((message) => message.name === 'WireTensor');

function layOut({ fields }) {
  let end = 0;
  const placed = fields.map(([name, type, comment, length = 1]) => {
    const { bytes, size } =
      type === 'tensor'
        ? { bytes: 8, size: layOut(wireTensor).bytes }
        : { ...scalars[type], size: scalars[type]?.bytes };
    if (size === undefined) throw new Error(`${name} has the unknown type ${type}`);
    const offset = roundUp(end, bytes);
    end = offset + size * length;
    return { name, type, comment, length, offset };
  });
  return { placed, bytes: roundUp(end, 8) };
}

const origin = 'Written by "npm run wire" from scripts/wire/messages.mjs; change it there.';

function typescriptMessage(message) {
  const { placed, bytes } = layOut(message);
  const lines = placed.map(({ name, type, comment, length, offset }) => {
    const index = offset / (type === 'tensor' ? 8 : scalars[type].bytes);
    const array = type === 'tensor' ? 'word' : length === 1 ? type : `${type}[${length || ''}]`;
    return `  ${snake(name).toUpperCase()} = ${index}, // ${array}: ${comment}`;
  });
  // Slots begin at every second word, because some values need 16-byte alignment.
  lines.push(`  WORDS = ${roundUp(bytes, 16) / 8},`);
  return `/** ${message.comment} */\nexport const enum ${message.name} {\n${lines.join('\n')}\n}\n`;
}

const upper = (name) => `k${name[0].toUpperCase()}${name.slice(1)}`;

function typescriptEnum({ name, comment, values }) {
  const lines = values.map(([value, meaning], number) => `  ${value}: ${number}, // ${meaning}`);
  return `/** ${comment} */\nexport const ${name} = {\n${lines.join('\n')}\n} as const;\n`;
}

function cppEnum({ name, comment, values, isScoped }) {
  const lines = values.map(([value, meaning], number) => `  // ${meaning}\n  ${upper(value)} = ${number},`);
  return `// ${comment}\nenum ${isScoped ? 'class ' : ''}${name} : uint32_t {\n${lines.join('\n')}\n};\n`;
}

function typescript(group, isFirst) {
  const head = `/**
 * Indices into a slot of the wire, each into the array of its type: \`u32[slot * 2 + INDEX]\` and \`i32\`, \`f64[slot + INDEX]\` and
 * \`u64\`. WORDS is the size of the slot. Enums, because the bundler writes their numbers into the code: V8 inlines up to a limit
 * of bytecode, and names of constants took an export beyond it (5 of 58 ns).
 * ${origin}
 *
 * @module
 */
`;
  const status = statuses.map((name, number) => `  ${name} = ${number},`).join('\n');
  const constants = `/** The wire itself. */
export const enum Wire {
  WORDS = ${wireWords}, // of eight bytes
  FIRST_SLOT = ${firstSlot}, // where requests begin
  LAYOUT_MASK = ${keptLayouts - 1}, // the bits of a layout's number that are its place
}

/** Outcomes of requests. */
export const enum Status {\n${status}\n}\n`;
  const enums = (group.enums ?? []).map(typescriptEnum);
  return [head, ...(isFirst ? [constants] : []), ...enums, ...group.messages.map(typescriptMessage)].join('\n');
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

// Where requests begin.
static const uint32_t kFirstSlot = ${firstSlot};

// The number of places for kept layouts, a power of two. Place 0 is for layouts without a number.
static const uint32_t kKeptLayouts = ${keptLayouts};

static const int32_t kMaxNdim = ${maxNdim};

// Outcomes of requests.
enum Status : int32_t {
${status}
};
`;
  const includes = isFirst ? '#include <stddef.h>\n#include <stdint.h>\n' : '#include "../wire_layout.h"\n';
  const parts = [
    `// Messages in slots of the wire. ${origin}\n#pragma once\n`,
    includes,
    `namespace ${group.namespace} {\n`,
    ...(isFirst ? [constants] : []),
    ...(group.enums ?? []).map(cppEnum),
    ...group.messages.map(cppMessage),
    `}  // namespace ${group.namespace}\n`,
  ];
  return parts.join('\n');
}

/** The path and text of every file. */
export function layoutFiles() {
  return groups.flatMap((group, index) => [
    [group.typescript, typescript(group, index === 0)],
    [group.header, header(group, index === 0)],
  ]);
}
