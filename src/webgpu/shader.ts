/**
 * Shaders for strided copies. Shape, steps and starts are constants of the text. On a software adapter each invocation
 * moves about sixteen units: a shader that reads the steps from a uniform and moves one unit took ten times as long. On a
 * GPU each invocation moves one unit, so that neighbouring invocations access neighbouring memory.
 */

import { isDense, type Move, splitAt, unitsOf, type Window } from './move.js';
import {
  bindings,
  type Division,
  type Frame,
  indices,
  int,
  positions,
  readUnit,
  type Shader,
  types,
} from './shader-text.js';
import { squareOf, squareShader } from './squares.js';

/** Units for which another dispatch costs less than a test of each unit. */
const MANY_UNITS = 2 ** 16;

/**
 * For software adapters: a move as moves whose tiles do not reach over the end of an axis. A shader has to test each unit
 * of a tile that does, and then a software adapter takes twice as long. Units below a word stay in one move, because
 * words between two moves would belong to both.
 */
export function* inWholeTiles(move: Move, tileSize: number): Generator<Move> {
  const { shape, unit } = move;
  const tile = unit < 4 ? shape : wordTile(move, tileSize);
  const axis = shape.findIndex((length, i) => length % (tile[i] as number) !== 0);
  if (axis < 0 || unitsOf(move) < MANY_UNITS) {
    yield move;
    return;
  }
  const length = shape[axis] as number;
  for (const part of splitAt(move, axis, length - (length % (tile[axis] as number))))
    yield* inWholeTiles(part, tileSize);
}

/**
 * `mayPad`: the bytes from the last element to the next multiple of four may be overwritten. `bits`: how many bits of
 * each unit are written; below 8 only for units of one byte.
 */
export function shaderOf(move: Move, from: Window, to: Window, mayPad: boolean, division: Division, bits = 8): Shader {
  const { unit } = move;
  const word = Math.max(unit, 4);
  const frame: Frame = {
    ...division,
    starts: [(move.from - from.offset) / unit, (move.to - to.offset) / unit],
    counts: [Math.floor(from.size / word), Math.floor(to.size / word)],
  };
  if (bits < 8) return atomicShader(move, frame, bits);
  const perWord = 4 / unit;
  const isAligned = move.to % 4 === 0 && (unitsOf(move) % perWord === 0 || mayPad);
  if (unit < 4 && !(isDense(move) && isAligned)) return atomicShader(move, frame, unit * 8);
  const square = squareOf(move, division);
  if (square !== null) return squareShader(move, frame, square);
  return unit < 4 ? packingShader(move, frame) : wordShader(move, frame);
}

/**
 * The units that an invocation moves along each axis. A square where the source is contiguous along another axis than
 * the target, as in a transposition, because both sides then use whole cache lines. Otherwise the last axis, and the
 * axis before it if the last is short. `whole` is divided by the words of a unit, or the units of a word.
 */
function tileOf({ shape, fromSteps }: Move, whole: number, perUnit = 1): number[] {
  const tileSize = Math.max(1, Math.floor(whole / perUnit));
  const tile = shape.map(() => 1);
  const last = shape.length - 1;
  const length = shape[last] as number;
  const rows = Math.floor(Math.sqrt(whole));
  const isOther = (step: number, axis: number) =>
    axis !== last && Math.abs(step) === 1 && (shape[axis] as number) >= rows;
  const other = fromSteps.findIndex(isOther);
  const columns = Math.floor(tileSize / rows);
  if (other >= 0 && columns > 0 && length >= columns) {
    tile[last] = columns;
    tile[other] = rows;
    return tile;
  }
  tile[last] = tileAlong(length, tileSize);
  if (last > 0 && length * 2 <= tileSize)
    tile[last - 1] = Math.min(shape[last - 1] as number, Math.floor(tileSize / length));
  return tile;
}

/**
 * A length from half of `tileSize` to twice as much that divides the axis, if there is one. One divides every axis, but
 * each invocation has costs.
 */
function tileAlong(length: number, tileSize: number): number {
  const divides = (tile: number) => length % tile === 0;
  const fewest = Math.max(2, tileSize / 2);
  let tile = Math.min(length, tileSize);
  while (!divides(tile) && tile - 1 >= fewest) tile--;
  if (divides(tile)) return tile;
  tile = tileSize + 1;
  while (!divides(tile) && tile < tileSize * 2) tile++;
  return divides(tile) ? tile : tileSize;
}

/** One statement for each unit of a tile, guarded where a tile can reach over the end of an axis. */
function eachUnit(move: Move, tile: readonly number[], statement: (from: string, to: string) => string): string {
  const { shape, fromSteps, toSteps } = move;
  const visit = (axis: number, from: number, to: number): string[] => {
    if (axis === shape.length) return [statement(`f + ${int(from)}`, `o + ${int(to)}`)];
    const lines: string[] = [];
    const isExact = (shape[axis] as number) % (tile[axis] as number) === 0;
    for (let k = 0; k < (tile[axis] as number); k++) {
      const inner = visit(axis + 1, from + k * (fromSteps[axis] as number), to + k * (toSteps[axis] as number));
      if (k === 0 || isExact) lines.push(...inner);
      else lines.push(`if (i${axis} + ${k} < ${shape[axis]}) {`, ...inner, '}');
    }
    return lines;
  };
  return visit(0, 0, 0).join('\n  ');
}

function program(element: string, target: string, frame: Frame, threads: number, body: string): Shader {
  const { group } = frame;
  const code = `${bindings(element, target, frame)}
@compute @workgroup_size(${group})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
  let thread = (group.y * groups.x + group.x) * ${group}u + local;
  if (thread >= ${threads}u) { return; }
  var t = i32(thread);
  ${body}
}
`;
  return { code, groups: Math.ceil(threads / group) };
}

/** The tile of a move in units of a word or more. */
function wordTile(move: Move, tileSize: number): number[] {
  return tileOf(move, tileSize, types[move.unit] === undefined ? move.unit / 4 : 1);
}

function wordShader(move: Move, frame: Frame): Shader {
  const tile = wordTile(move, frame.tileSize);
  const { text, threads } = indices(move.shape, tile);
  const copies = eachUnit(move, tile, (from, to) => `result[${to}] = source[${from}];`);
  const element = types[move.unit] ?? `array<u32, ${move.unit / 4}>`;
  return program(element, element, frame, threads, [text, positions(move, frame), copies].join('\n  '));
}

/** Units of 1 or 2 bytes that fill the target: each invocation writes whole words, which no other writes. */
function packingShader(move: Move, frame: Frame): Shader {
  const { unit, shape, fromSteps } = move;
  const perWord = 4 / unit;
  const last = shape.length - 1;
  const total = unitsOf(move);
  if ((shape[last] as number) % perWord !== 0) return flatShader(move, frame, total);
  const step = fromSteps[last] as number;
  // The same move in words: a step along the last axis is a word of the target.
  const words: Move = {
    ...move,
    shape: shape.with(last, (shape[last] as number) / perWord),
    fromSteps: fromSteps.with(last, step * perWord),
    toSteps: move.toSteps.with(last, perWord),
  };
  const tile = tileOf(words, frame.tileSize, perWord);
  const { text, threads } = indices(words.shape, tile);
  const copies = eachUnit(words, tile, (from, to) => {
    const parts = Array.from(
      { length: perWord },
      (_, i) => `(${readUnit(unit, `${from} + ${int(i * step)}`)} << ${i * unit * 8}u)`,
    );
    return `result[(${to}) / ${perWord}] = ${parts.join(' | ')};`;
  });
  return program('u32', 'u32', frame, threads, [text, positions(words, frame), copies].join('\n  '));
}

/** As {@link packingShader} where a word holds the end of one row and the start of the next. */
function flatShader({ unit, shape, fromSteps }: Move, frame: Frame, total: number): Shader {
  const [from, to] = frame.starts;
  const perWord = 4 / unit;
  const words = Math.ceil(total / perWord);
  const wordsEach = Math.max(1, frame.tileSize / perWord);
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
  return program('u32', 'u32', frame, Math.ceil(words / wordsEach), body);
}

/**
 * The first bits of units of 1 or 2 bytes anywhere: other invocations write the other bytes of a word, so each clears and
 * sets bits.
 */
function atomicShader(move: Move, frame: Frame, bits: number): Shader {
  const { unit } = move;
  const tile = tileOf(move, frame.tileSize);
  const { text, threads } = indices(move.shape, tile);
  const [shift, mask] = unit === 1 ? [2, 3] : [1, 1];
  const copies = eachUnit(
    move,
    tile,
    (from, to) => `{
    let at = (${to}) >> ${shift};
    let bit = u32((${to}) & ${mask}) * ${unit * 8}u;
    atomicAnd(&result[at], ~(${2 ** bits - 1}u << bit));
    atomicOr(&result[at], ${readUnit(unit, from, bits)} << bit);
  }`,
  );
  return program('u32', 'atomic<u32>', frame, threads, [text, positions(move, frame), copies].join('\n  '));
}
