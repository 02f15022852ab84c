/**
 * Plans a copy inside a GPU: the pass of a copy in units of 1 to 16 bytes, and windows of the two buffers that fit the
 * limits of a binding.
 */

import type { Pass } from '../storage/backend.js';

/** A strided copy in units. Starts are in bytes from the start of each buffer; steps are in units. */
export interface Move {
  /** Bytes that one access of a shader moves. */
  readonly unit: 1 | 2 | 4 | 8 | 16;
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

export const roundUp = (value: number, to: number): number => Math.ceil(value / to) * to;

/** The largest unit that divides all numbers. */
function unitOf(numbers: readonly number[]): Move['unit'] {
  for (const unit of [16, 8, 4, 2] as const) if (numbers.every((n) => n % unit === 0)) return unit;
  return 1;
}

/** A pass over whole bytes as a move. Rows that are contiguous on both sides are moved in large units. */
export function moveOf(pass: Pass): Move {
  const bytes = pass.from.bits / 8;
  const shape = pass.axes.map(({ length }) => length);
  const fromSteps = pass.axes.map(({ from: step }) => step / 8);
  const toSteps = pass.axes.map(({ to: step }) => step / 8);
  const [from, to] = [pass.fromBit / 8, pass.toBit / 8];
  const last = shape.length - 1;
  // Bytes of a row that is contiguous on both sides; at least the bytes of an element are.
  let row = bytes;
  if (last >= 0 && fromSteps[last] === bytes && toSteps[last] === bytes) {
    row = bytes * (shape.pop() as number);
    fromSteps.pop();
    toSteps.pop();
  }
  const unit = unitOf([row, from, to, ...fromSteps, ...toSteps]);
  const inUnits = (steps: readonly number[]) => steps.map((step) => step / unit);
  const move: Move = { unit, shape, fromSteps: inUnits(fromSteps), toSteps: inUnits(toSteps), from, to };
  const length = row / unit;
  if (length === 1 && shape.length > 0) return move;
  return { ...move, shape: [...shape, length], fromSteps: [...move.fromSteps, 1], toSteps: [...move.toSteps, 1] };
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

/** The bytes of a buffer that a move uses, from a multiple of the alignment to a multiple of four. */
export function windowOf(start: number, steps: readonly number[], { unit, shape }: Move): Window {
  let low = start;
  let high = start + unit;
  steps.forEach((step, axis) => {
    const reach = step * ((shape[axis] as number) - 1) * unit;
    if (reach < 0) low += reach;
    else high += reach;
  });
  const offset = Math.floor(low / BINDING_ALIGNMENT) * BINDING_ALIGNMENT;
  return { offset, size: roundUp(high, 4) - offset };
}

/** The move in parts whose windows have at most `limit` bytes on both sides. */
export function* partsOf(move: Move, limit: number): Generator<Move> {
  const { shape, fromSteps, toSteps, unit } = move;
  const isLarge = (start: number, steps: readonly number[]) => windowOf(start, steps, move).size > limit;
  const steps = isLarge(move.from, fromSteps) ? fromSteps : isLarge(move.to, toSteps) ? toSteps : null;
  const axis = steps === null ? -1 : widestAxis(shape, steps);
  if (axis < 0) {
    yield move;
    return;
  }
  const length = shape[axis] as number;
  const half = length >> 1;
  const part = (first: number, count: number): Move => ({
    ...move,
    shape: shape.with(axis, count),
    from: move.from + first * (fromSteps[axis] as number) * unit,
    to: move.to + first * (toSteps[axis] as number) * unit,
  });
  yield* partsOf(part(0, half), limit);
  yield* partsOf(part(half, length - half), limit);
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
