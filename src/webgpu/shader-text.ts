/** The parts of a shader's text that all shaders for copies share. */

import type { Move } from './move.js';

export interface Shader {
  readonly code: string;
  /** Workgroups of the dispatch. */
  readonly groups: number;
}

/** The types of units in a shader. */
export const types: Record<number, string> = { 4: 'u32', 8: 'vec2<u32>', 16: 'vec4<u32>' };

/** What a shader is made for, besides its move. */
export interface Frame {
  /** Invocations of a workgroup. */
  readonly group: number;
  /** The first unit of each window. */
  readonly starts: readonly [from: number, to: number];
  /** The words or larger units in each window. */
  readonly counts: readonly [from: number, to: number];
}

const term = (index: string, step: number): string => (step === 0 ? '' : ` + ${index} * ${int(step)}`);
export const int = (value: number): string => (value < 0 ? `(${value})` : `${value}`);

/**
 * Statements that compute the indices `i0`, `i1`, ... of the unit of an invocation, or of the first unit of a tile with
 * these lengths.
 */
export function indices(
  shape: readonly number[],
  tile: readonly number[] = shape.map(() => 1),
): { text: string; threads: number } {
  const lines: string[] = [];
  let threads = 1;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    const count = Math.ceil((shape[axis] as number) / (tile[axis] as number));
    threads *= count;
    const isFirst = axis === 0;
    lines.push(`let i${axis} = ${isFirst ? 't' : `(t % ${count})`} * ${tile[axis]};`);
    if (!isFirst) lines.push(`t = t / ${count};`);
  }
  return { text: lines.join('\n  '), threads };
}

/** Statements that compute the positions `f` in the source and `o` in the result of that unit. */
export const positions = ({ shape, fromSteps, toSteps }: Move, { starts: [from, to] }: Frame): string =>
  `let f = ${int(from)}${shape.map((_, axis) => term(`i${axis}`, fromSteps[axis] as number)).join('')};
  let o = ${int(to)}${shape.map((_, axis) => term(`i${axis}`, toSteps[axis] as number)).join('')};`;

/** From the position of a unit of 1 or 2 bytes to its word: the bits to shift by, and the mask of its place in the word. */
export const shiftOf = (unit: number): number => (unit === 1 ? 2 : 1);
export const maskOf = (unit: number): number => 4 / unit - 1;

/** An expression for the first bits of the unit of 1 or 2 bytes at a position, in the low bits of a u32. */
export const readUnit = (unit: number, position: string, bits = unit * 8): string =>
  `extractBits(source[(${position}) >> ${shiftOf(unit)}], u32((${position}) & ${maskOf(unit)}) * ${unit * 8}u, ${bits}u)`;

/** The buffers that a shader reads and writes. */
export const bindings = (element: string, target: string, [fromCount, toCount]: Frame['counts']): string =>
  `@group(0) @binding(0) var<storage, read> source: array<${element}, ${fromCount}>;
@group(0) @binding(1) var<storage, read_write> result: array<${target}, ${toCount}>;`;
