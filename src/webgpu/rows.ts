/**
 * Copies of many rows through a texture, on software adapters. A command between a buffer and a texture moves rows with
 * a stride at the speed of memory. A software adapter takes five times as long for a shader, and as long for a command
 * for each row.
 *
 * @module
 */

import { type GpuBuffer, type GpuDevice, type GpuEncoder, type GpuTexture, Usage } from './api.js';
import type { Move } from './move.js';

/** Bytes of the texture, which then stays in the caches of the processor. */
const TEXTURE_BYTES = 2 ** 20;
/** Shorter rows are copied by a shader. */
const SHORTEST = 16;
/** A command for fewer rows costs more than they do. */
const FEWEST = 16;
/** The stride of rows in a command is a multiple of this, so one command moves every second, fourth, ... row. */
const ALIGNMENT = 256;

/** How the rows of a move are copied. */
export interface RowPlan {
  readonly move: Move;
  /** Bytes of a row, and from one row to the next on both sides. */
  readonly nbytes: number;
  readonly pitches: readonly [from: number, to: number];
  /** The rows i, i + groups, i + 2 * groups, ... have aligned strides on both sides. */
  readonly groups: number;
  /** Rows of the texture. */
  readonly height: number;
}

/** The plan for a move of rows that are contiguous on both sides; null for other moves. */
export function rowPlanOf(move: Move, { limits }: GpuDevice): RowPlan | null {
  const { unit, shape, fromSteps, toSteps } = move;
  const last = shape.length - 1;
  if (last < 1 || unit < 4 || fromSteps[last] !== 1 || toSteps[last] !== 1) return null;
  const largest = limits.maxTextureDimension2D;
  const nbytes = (shape[last] as number) * unit;
  const pitches = [fromSteps, toSteps].map((steps) => (steps[last - 1] as number) * unit) as [number, number];
  if (nbytes < SHORTEST || nbytes / 4 > largest || Math.min(...pitches) < nbytes) return null;
  const rows = shape[last - 1] as number;
  const groups = Math.max(...pitches.map(groupsOf));
  if (rows < groups * FEWEST || Math.max(...pitches) * groups >= 2 ** 32) return null;
  const height = Math.min(largest, Math.floor(TEXTURE_BYTES / nbytes), Math.ceil(rows / groups));
  return { move, nbytes, pitches, groups, height };
}

/** How many neighbouring rows need a command each, so that the stride of each is aligned. Strides are multiples of 4. */
function groupsOf(pitch: number): number {
  let groups = 1;
  while ((pitch * groups) % ALIGNMENT !== 0) groups *= 2;
  return groups;
}

/** The texture of a plan. The caller destroys it after the commands were submitted. */
export const makeTexture = ({ nbytes, height }: RowPlan, gpuDevice: GpuDevice): GpuTexture =>
  gpuDevice.createTexture({
    size: [nbytes / 4, height],
    format: 'r32uint',
    usage: Usage.textureCopySource | Usage.textureCopyTarget,
  });

export function copyThroughTexture(
  plan: RowPlan,
  texture: GpuTexture,
  encoder: GpuEncoder,
  from: GpuBuffer,
  to: GpuBuffer,
): void {
  const { move, nbytes, pitches, groups, height } = plan;
  const { shape, fromSteps, toSteps, unit } = move;
  const [fromPitch, toPitch] = pitches;
  const width = nbytes / 4;
  const rowAxis = shape.length - 2;
  const rows = shape[rowAxis] as number;
  const copyPart = (first: number, at: number, into: number): void => {
    const size = [width, Math.min(height, Math.ceil((rows - first) / groups))] as const;
    const source = { buffer: from, offset: at + first * fromPitch, bytesPerRow: fromPitch * groups };
    const target = { buffer: to, offset: into + first * toPitch, bytesPerRow: toPitch * groups };
    encoder.copyBufferToTexture(source, { texture }, size);
    encoder.copyTextureToBuffer({ texture }, target, size);
  };
  const visit = (axis: number, at: number, into: number): void => {
    if (axis === rowAxis) {
      for (let start = 0; start < rows; start += groups * height) {
        for (let group = 0; group < groups && start + group < rows; group++) copyPart(start + group, at, into);
      }
      return;
    }
    for (let i = 0; i < (shape[axis] as number); i++) {
      visit(axis + 1, at + i * (fromSteps[axis] as number) * unit, into + i * (toSteps[axis] as number) * unit);
    }
  };
  visit(0, move.from, move.to);
}
