/**
 * Plans a copy inside a GPU: the pass of a copy in units of 1 to 16 bytes, and windows of the two buffers that fit the
 * limits of a binding.
 */

import type { Pass } from '../storage/backend.js';

/** A strided copy in units. Starts are in bytes from the start of each buffer; steps are in units. */
export interface Move {
  /** Bytes that one access of a shader moves: 1, 2, 4, 8, 16, or another multiple of 4 (see {@link inLargeUnits}). */
  readonly unit: number;
  readonly shape: readonly number[];
  readonly fromSteps: readonly number[];
  readonly toSteps: readonly number[];
  readonly from: number;
  readonly to: number;
}

/** Part of a buffer, in bytes. */
export interface Window {
  readonly offset: number;
  readonly size: number;
}

/** Bindings start at multiples of this, which every device supports. */
const BINDING_ALIGNMENT = 256;
/**
 * The rows that {@link inLargeUnits} moves: the most bytes of a row, and the fewest of a unit. Other rows are copied faster
 * through a texture. One core copies through a texture, and all cores run a shader.
 */
const limits = { fewCores: { row: 96, unit: 12 }, manyCores: { row: 2048, unit: 4 } };
/** Bytes of a copy from which many cores count. A shader is compiled for each layout, which takes longer than a small copy. */
const LARGE_COPY = 2 ** 20;
/** Words of the largest unit. The adapter compiles each word of a unit apart. */
const MOST_WORDS = 24;

export const roundUp = (value: number, to: number): number => Math.ceil(value / to) * to;

const gcd = (a: number, b: number): number => (b === 0 ? Math.abs(a) : gcd(b, a % b));

/** The largest unit with a type of its own in a shader that divides all numbers. */
function unitOf(numbers: readonly number[]): number {
  for (const unit of [16, 8, 4, 2] as const) if (numbers.every((n) => n % unit === 0)) return unit;
  return 1;
}

/** A pass over whole bytes as a move. Rows that are contiguous on both sides are moved in large units. */
export function moveOf(pass: Pass): Move {
  const bytes = pass.from.bits / 8;
  const shape = pass.axes.map(({ length }) => length);
  const fromSteps = pass.axes.map(({ from: step }) => step / 8);
  const toSteps = pass.axes.map(({ to: step }) => step / 8);
  const last = shape.length - 1;
  if (last >= 0 && fromSteps[last] === bytes && toSteps[last] === bytes) {
    shape[last] = (shape[last] as number) * bytes;
    fromSteps[last] = 1;
    toSteps[last] = 1;
  } else {
    shape.push(bytes);
    fromSteps.push(1);
    toSteps.push(1);
  }
  const [from, to] = [pass.fromBit / 8, pass.toBit / 8];
  const bytesMove: Move = { unit: 1, shape, fromSteps, toSteps, from, to };
  return inUnits(bytesMove, unitOf(spacingsOf(bytesMove)));
}

/**
 * For software adapters: short rows that are contiguous on both sides, in the largest unit that divides the length, the
 * starts and the steps of all rows. A software adapter finds the buffer and multiplies the index for each access of a
 * shader (docs/decisions/rows-through-a-texture.md). Null for other moves, and if that unit is too small.
 */
export function inLargeUnits(move: Move, hasManyCores: boolean): Move | null {
  const { shape, fromSteps, toSteps } = move;
  const last = shape.length - 1;
  if (last < 1 || move.unit < 4 || fromSteps[last] !== 1 || toSteps[last] !== 1) return null;
  const spacings = spacingsOf(move);
  const isLarge = unitsOf(move) * move.unit >= LARGE_COPY;
  const limit = hasManyCores && isLarge ? limits.manyCores : limits.fewCores;
  if ((spacings[0] as number) > limit.row) return null;
  const words = spacings.reduce(gcd) / 4;
  let each = Math.min(words, MOST_WORDS);
  while (words % each !== 0) each--;
  return each * 4 >= limit.unit ? inUnits(move, each * 4) : null;
}

/** In bytes: the length of a row of contiguous units, the starts, and the steps of the other axes. */
const spacingsOf = ({ unit, shape, fromSteps, toSteps, from, to }: Move): number[] => {
  const steps = [...fromSteps.slice(0, -1), ...toSteps.slice(0, -1)].map((step) => step * unit);
  return [(shape.at(-1) as number) * unit, from, to, ...steps];
};

/** The move with another unit, which divides all of its spacings. */
function inUnits(move: Move, unit: number): Move {
  const last = move.shape.length - 1;
  const length = ((move.shape[last] as number) * move.unit) / unit;
  const shape = move.shape.with(last, length);
  const converted = (steps: readonly number[]) =>
    steps.map((step, axis) => (axis === last ? step : (step * move.unit) / unit));
  const result = { ...move, unit, shape, fromSteps: converted(move.fromSteps), toSteps: converted(move.toSteps) };
  if (length > 1 || last === 0) return result;
  const withoutLast = { shape: shape.slice(0, -1), fromSteps: result.fromSteps.slice(0, -1) };
  return { ...result, ...withoutLast, toSteps: result.toSteps.slice(0, -1) };
}

/** True when the units are one contiguous run on both sides. */
export const isOneRun = ({ shape, fromSteps, toSteps }: Move): boolean =>
  shape.length === 1 && (shape[0] === 1 || (fromSteps[0] === 1 && toSteps[0] === 1));

/** True when the target's units are row-major without gaps. */
export function isDense({ shape, toSteps }: Move): boolean {
  let step = 1;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    if (toSteps[axis] !== step && shape[axis] !== 1) return false;
    step *= shape[axis] as number;
  }
  return true;
}

export const unitsOf = ({ shape }: Move): number => shape.reduce((product, length) => product * length, 1);

/** The bytes of a buffer that a move uses, from a multiple of the alignment and the unit to a multiple of four. */
export function windowOf(start: number, steps: readonly number[], { unit, shape }: Move): Window {
  let low = start;
  let high = start + unit;
  steps.forEach((step, axis) => {
    const reach = step * ((shape[axis] as number) - 1) * unit;
    if (reach < 0) low += reach;
    else high += reach;
  });
  const alignment = (BINDING_ALIGNMENT * unit) / gcd(BINDING_ALIGNMENT, unit);
  const offset = Math.floor(low / alignment) * alignment;
  return { offset, size: roundUp(high, 4) - offset };
}

/** The move in parts whose windows have at most `limit` bytes on both sides. */
export function* partsOf(move: Move, limit: number): Generator<Move> {
  const { shape, fromSteps, toSteps } = move;
  const isLarge = (start: number, steps: readonly number[]) => windowOf(start, steps, move).size > limit;
  const steps = isLarge(move.from, fromSteps) ? fromSteps : isLarge(move.to, toSteps) ? toSteps : null;
  const axis = steps === null ? -1 : widestAxis(shape, steps);
  if (axis < 0) {
    yield move;
    return;
  }
  const half = (shape[axis] as number) >> 1;
  for (const part of splitAt(move, axis, half)) yield* partsOf(part, limit);
}

/** The first `count` units along an axis, and the rest. */
export function splitAt(move: Move, axis: number, count: number): readonly [Move, Move] {
  const { shape, fromSteps, toSteps, unit } = move;
  const part = (first: number, length: number): Move => ({
    ...move,
    shape: shape.with(axis, length),
    from: move.from + first * (fromSteps[axis] as number) * unit,
    to: move.to + first * (toSteps[axis] as number) * unit,
  });
  return [part(0, count), part(count, (shape[axis] as number) - count)];
}

/** The axis that covers most of a window, or -1 when there is one unit. */
function widestAxis(shape: readonly number[], steps: readonly number[]): number {
  const reach = (axis: number) => Math.abs(steps[axis] as number) * ((shape[axis] as number) - 1);
  let widest = -1;
  for (let axis = 0; axis < shape.length; axis++) {
    if ((shape[axis] as number) > 1 && (widest < 0 || reach(axis) > reach(widest))) widest = axis;
  }
  return widest;
}
