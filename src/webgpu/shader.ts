/**
 * Shaders for strided copies. Shape, steps and starts are constants of the text, and each invocation moves about
 * sixteen units: a shader that reads them from a uniform and moves one unit took ten times as long.
 *
 * @module
 */

import { isDense, type Move, unitsOf, type Window } from './move.js';

/** Units that one invocation moves. */
const BLOCK = 16;
const GROUP = 64;

export interface Shader {
  readonly code: string;
  /** Workgroups of the dispatch. */
  readonly groups: number;
}

const types = { 4: 'u32', 8: 'vec2<u32>', 16: 'vec4<u32>' } as const;

/** `mayPad`: the bytes from the last element to the next multiple of four may be overwritten. */
export function shaderOf(move: Move, from: Window, to: Window, mayPad: boolean): Shader {
  const { unit } = move;
  const starts: Starts = [(move.from - from.offset) / unit, (move.to - to.offset) / unit];
  if (unit >= 4) return wordShader(move, starts);
  const perWord = 4 / unit;
  const isAligned = move.to % 4 === 0 && (unitsOf(move) % perWord === 0 || mayPad);
  return isDense(move) && isAligned ? packingShader(move, starts) : atomicShader(move, starts);
}

type Starts = readonly [from: number, to: number];

/** How many units an invocation moves along each axis: the last axis, and the axis before if the last is short. */
function blocksOf(shape: readonly number[], whole = 1): number[] {
  const blocks = shape.map(() => 1);
  const last = shape.length - 1;
  const length = shape[last] as number;
  blocks[last] = Math.min(length, Math.max(BLOCK, whole));
  if (last > 0 && length * 2 <= BLOCK)
    blocks[last - 1] = Math.min(shape[last - 1] as number, Math.floor(BLOCK / length));
  return blocks;
}

const term = (index: string, step: number): string => (step === 0 ? '' : ` + ${index} * ${int(step)}`);
const int = (value: number): string => (value < 0 ? `(${value})` : `${value}`);

/** Statements that compute the indices `i0`, `i1`, ... of an invocation's first unit. */
function indices(shape: readonly number[], blocks: readonly number[]): { text: string; threads: number } {
  const lines: string[] = [];
  let threads = 1;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    const count = Math.ceil((shape[axis] as number) / (blocks[axis] as number));
    threads *= count;
    const isFirst = axis === 0;
    lines.push(`let i${axis} = ${isFirst ? 't' : `(t % ${count})`} * ${blocks[axis]};`);
    if (!isFirst) lines.push(`t = t / ${count};`);
  }
  return { text: lines.join('\n  '), threads };
}

const positions = ({ shape, fromSteps, toSteps }: Move, [from, to]: Starts): string =>
  `let f = ${int(from)}${shape.map((_, axis) => term(`i${axis}`, fromSteps[axis] as number)).join('')};
  let o = ${int(to)}${shape.map((_, axis) => term(`i${axis}`, toSteps[axis] as number)).join('')};`;

/** One statement for each unit of a block, guarded where a block can reach over the end of an axis. */
function eachUnit(move: Move, blocks: readonly number[], statement: (from: string, to: string) => string): string {
  const { shape, fromSteps, toSteps } = move;
  const visit = (axis: number, from: number, to: number): string[] => {
    if (axis === shape.length) return [statement(`f + ${int(from)}`, `o + ${int(to)}`)];
    const lines: string[] = [];
    const isExact = (shape[axis] as number) % (blocks[axis] as number) === 0;
    for (let k = 0; k < (blocks[axis] as number); k++) {
      const inner = visit(axis + 1, from + k * (fromSteps[axis] as number), to + k * (toSteps[axis] as number));
      if (k === 0 || isExact) lines.push(...inner);
      else lines.push(`if (i${axis} + ${k} < ${shape[axis]}) {`, ...inner, '}');
    }
    return lines;
  };
  return visit(0, 0, 0).join('\n  ');
}

function program(element: string, target: string, threads: number, body: string): Shader {
  const code = `@group(0) @binding(0) var<storage, read> source: array<${element}>;
@group(0) @binding(1) var<storage, read_write> result: array<${target}>;
@compute @workgroup_size(${GROUP})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let thread = (group.y * groups.x + group.x) * ${GROUP}u + local;
  if (thread >= ${threads}u) { return; }
  var t = i32(thread);
  ${body}
}
`;
  return { code, groups: Math.ceil(threads / GROUP) };
}

function wordShader(move: Move, starts: Starts): Shader {
  const blocks = blocksOf(move.shape);
  const { text, threads } = indices(move.shape, blocks);
  const copies = eachUnit(move, blocks, (from, to) => `result[${to}] = source[${from}];`);
  const type = types[move.unit as 4 | 8 | 16];
  return program(type, type, threads, [text, positions(move, starts), copies].join('\n  '));
}

/** An expression for the unit of 1 or 2 bytes at a position, in the low bits of a u32. */
function readUnit(unit: number, position: string): string {
  const [shift, mask] = unit === 1 ? [2, 3] : [1, 1];
  return `extractBits(source[(${position}) >> ${shift}], u32((${position}) & ${mask}) * ${unit * 8}u, ${unit * 8}u)`;
}

/** Units of 1 or 2 bytes that fill the target: each invocation writes whole words, which no other writes. */
function packingShader(move: Move, starts: Starts): Shader {
  const { unit, shape, fromSteps } = move;
  const perWord = 4 / unit;
  const last = shape.length - 1;
  const total = unitsOf(move);
  if ((shape[last] as number) % perWord !== 0) return flatShader(move, starts, total);
  const blocks = shape.map((length, axis) => (axis === last ? Math.min(length, BLOCK) : 1));
  const { text, threads } = indices(shape, blocks);
  const lines: string[] = [];
  const step = fromSteps[last] as number;
  for (let k = 0; k < (blocks[last] as number); k += perWord) {
    const parts = Array.from(
      { length: perWord },
      (_, i) => `(${readUnit(unit, `f + ${int((k + i) * step)}`)} << ${i * unit * 8}u)`,
    );
    const write = `result[(o + ${k}) / ${perWord}] = ${parts.join(' | ')};`;
    lines.push(
      k === 0 || (shape[last] as number) % (blocks[last] as number) === 0
        ? write
        : `if (i${last} + ${k} < ${shape[last]}) { ${write} }`,
    );
  }
  return program('u32', 'u32', threads, [text, positions(move, starts), ...lines].join('\n  '));
}

/** As {@link packingShader} where a word holds the end of one row and the start of the next. */
function flatShader({ unit, shape, fromSteps }: Move, [from, to]: Starts, total: number): Shader {
  const perWord = 4 / unit;
  const words = Math.ceil(total / perWord);
  const wordsEach = BLOCK / perWord;
  const steps = shape.map((length, axis) =>
    axis === 0
      ? `f += rest * ${int(fromSteps[0] as number)};`
      : `f += (rest % ${length}) * ${int(fromSteps[axis] as number)}; rest = rest / ${length};`,
  );
  const body = `for (var w = 0; w < ${wordsEach}; w++) {
    let at = t * ${wordsEach} + w;
    if (at >= ${words}) { return; }
    var word = 0u;
    for (var k = 0; k < ${perWord}; k++) {
      var rest = at * ${perWord} + k;
      if (rest >= ${total}) { break; }
      var f = ${int(from)};
      ${steps.reverse().join('\n      ')}
      word |= ${readUnit(unit, 'f')} << (u32(k) * ${unit * 8}u);
    }
    result[${to / perWord} + at] = word;
  }`;
  return program('u32', 'u32', Math.ceil(words / wordsEach), body);
}

/** Units of 1 or 2 bytes anywhere: other invocations write the other bytes of a word, so each clears and sets bits. */
function atomicShader(move: Move, starts: Starts): Shader {
  const { unit } = move;
  const blocks = blocksOf(move.shape);
  const { text, threads } = indices(move.shape, blocks);
  const [shift, mask] = unit === 1 ? [2, 3] : [1, 1];
  const full = unit === 1 ? '0xffu' : '0xffffu';
  const copies = eachUnit(
    move,
    blocks,
    (from, to) => `{
    let at = (${to}) >> ${shift};
    let bit = u32((${to}) & ${mask}) * ${unit * 8}u;
    atomicAnd(&result[at], ~(${full} << bit));
    atomicOr(&result[at], ${readUnit(unit, from)} << bit);
  }`,
  );
  return program('u32', 'atomic<u32>', threads, [text, positions(move, starts), copies].join('\n  '));
}
