/**
 * Copies of many rows through a texture, on software adapters. A command between a buffer and a texture moves rows with
 * a stride at the speed of memory. A software adapter takes longer for a shader unless rows are short, and longer for a
 * command for each row (docs/decisions/rows-through-a-texture.md).
 */

import { type GpuBuffer, type GpuDevice, type GpuEncoder, type GpuTexture, Usage } from './api.js';
import type { Move } from './move.js';
import type { Spares } from './spares.js';

/** Bytes of the texture, which then stays in the caches of the processor. */
const TEXTURE_BYTES = 2 ** 22;
/** Shorter rows are copied by a shader. */
const SHORTEST = 16;
/** A command for fewer rows costs more than they do. */
const FEWEST = 16;
/** The stride of rows in a command is a multiple of this, so one command moves every second, fourth, ... row. */
const ALIGNMENT = 256;
/** Commands for one copy. WebGPU keeps all of them until the copy is submitted. A shader copies more rows. */
const MOST_COMMANDS = 2 ** 14;
/** Commands that are submitted together, so that the adapter runs them while the browser decodes the next commands. */
const BATCH = 128;

/** How the rows of a move are copied. */
export interface RowPlan {
  readonly move: Move;
  /** Bytes of a row, and from one row to the next on both sides. */
  readonly nbytes: number;
  readonly pitches: Pitches;
  /** The rows i, i + groups, i + 2 * groups, ... have aligned strides on both sides. */
  readonly groups: number;
  /** Groups that lie side by side in the texture: all, or as many as the width of a texture allows. */
  readonly columns: number;
  /** Rows of the texture. */
  readonly height: number;
}
type Pitches = readonly [from: number, to: number];

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
  let columns = groups;
  while ((columns * nbytes) / 4 > largest) columns /= 2;
  const height = Math.min(largest, Math.floor(TEXTURE_BYTES / (nbytes * columns)), Math.ceil(rows / groups));
  const copies = shape.slice(0, -2).reduce((product, length) => product * length, 1);
  if (copies * Math.ceil(rows / (groups * height)) * groups * 2 > MOST_COMMANDS) return null;
  return { move, nbytes, pitches, groups, columns, height };
}

/** How many neighbouring rows need a command each, so that the stride of each is aligned. Strides are multiples of 4. */
function groupsOf(pitch: number): number {
  let groups = 1;
  while ((pitch * groups) % ALIGNMENT !== 0) groups *= 2;
  return groups;
}

/** The texture of a plan. The caller calls `release` after the commands were submitted. */
export function textureOf({ nbytes, columns, height }: RowPlan, gpuDevice: GpuDevice, spares: Spares) {
  const size = [(nbytes / 4) * columns, height] as const;
  const kind = `texture of ${height} rows`;
  const total = nbytes * columns * height;
  const texture =
    spares.take<GpuTexture>(kind, total) ??
    gpuDevice.createTexture({ size, format: 'r32uint', usage: Usage.textureCopySource | Usage.textureCopyTarget });
  return { texture, release: () => spares.add(kind, total, texture) };
}

/** Where commands are recorded. `submitRecorded` runs the commands recorded so far and makes a new encoder. */
export interface Recorder {
  readonly encoder: GpuEncoder;
  submitRecorded(): void;
}

export function copyThroughTexture(
  { move, nbytes, pitches, groups, columns, height }: RowPlan,
  texture: GpuTexture,
  recorder: Recorder,
  from: GpuBuffer,
  to: GpuBuffer,
): void {
  const { shape, fromSteps, toSteps, unit } = move;
  const width = nbytes / 4;
  const rowAxis = shape.length - 2;
  const rows = shape[rowAxis] as number;
  let recorded = 0;
  /** One command: `size` texels at `origin`, and rows of a buffer from `offset` on. */
  const transfer = (side: 0 | 1, offset: number, origin: Pair, size: Pair): void => {
    const { encoder } = recorder;
    recorded++;
    const bytesPerRow = pitches[side] * groups;
    if (side === 0) encoder.copyBufferToTexture({ buffer: from, offset, bytesPerRow }, { texture, origin }, size);
    else encoder.copyTextureToBuffer({ texture, origin }, { buffer: to, offset, bytesPerRow }, size);
  };
  /** One side of a block: every `groups`-th of `count` rows from `offset` on, for each column of the texture. */
  const copySide = (side: 0 | 1, offset: number, count: number): void => {
    const pitch = pitches[side];
    if (pitch === nbytes) {
      // No gaps between rows, so a row of the texture is contiguous in the buffer.
      const whole = Math.floor((count + groups - columns) / groups);
      const rest = Math.min(count - whole * groups, columns);
      if (whole > 0) transfer(side, offset, [0, 0], [width * columns, whole]);
      if (rest > 0) transfer(side, offset + whole * groups * pitch, [0, whole], [width * rest, 1]);
      return;
    }
    for (let column = 0; column < columns && column < count; column++) {
      const size = [width, Math.ceil((count - column) / groups)] as const;
      transfer(side, offset + column * pitch, [width * column, 0], size);
    }
  };
  const visit = (axis: number, at: number, into: number): void => {
    if (axis === rowAxis) {
      for (let start = 0; start < rows; start += groups * height) {
        const end = Math.min(start + groups * height, rows);
        for (let first = start; first < Math.min(start + groups, end); first += columns) {
          copySide(0, at + first * pitches[0], end - first);
          copySide(1, into + first * pitches[1], end - first);
          if (recorded >= BATCH) {
            recorded = 0;
            recorder.submitRecorded();
          }
        }
      }
      return;
    }
    for (let i = 0; i < (shape[axis] as number); i++) {
      visit(axis + 1, at + i * (fromSteps[axis] as number) * unit, into + i * (toSteps[axis] as number) * unit);
    }
  };
  visit(0, move.from, move.to);
}
type Pair = readonly [number, number];
