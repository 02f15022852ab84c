/**
 * `dlpack/debug`: one place to look at memory, on the host, on CUDA devices, in GPUBuffers and in Python.
 *
 * @example
 * ```ts no-run: needs a leak
 * import { leaks, liveCounts, setDebug } from 'dlpack/debug';
 * setDebug(true);
 * // ... the part of the program whose memory grows ...
 * console.log(liveCounts().bytes);
 * console.log(leaks()[0]); // how many tensors of which shape are alive, and the line that made them
 * ```
 *
 * @module
 */

import { type DeviceArgument, parseDevice } from '../device.js';
import { ArgumentValueError } from '../errors.js';
import { isDebug, type Leak, liveOrigins, setDebug } from '../storage/debug.js';
import { type LiveCounts, memorySources } from '../storage/memory-sources.js';

export { type Leak, type LiveCounts, setDebug };

const none: LiveCounts = {
  storages: 0,
  bytes: 0,
  imports: 0,
  exports: 0,
  tickets: 0,
  kept: 0,
  reported: 0,
  pins: 0,
  gpuBuffers: 0,
  gpuBytes: 0,
  objects: 0,
  objectBytes: 0,
};

function settle(): void {
  for (const source of memorySources) source.settle?.();
}

/**
 * Counts what is alive: memory that this package allocated, that others lend to it, and that others still use. In a
 * browser only GPUBuffers count, because the garbage collector looks after all other memory there.
 *
 * @returns The counts and the bytes: of the process, where a member does not say that it is of this thread.
 * @example
 * ```ts
 * import { Tensor } from 'dlpack';
 * import { liveCounts } from 'dlpack/debug';
 * const before = liveCounts().storages;
 * const x = Tensor.zeros([1000], 'float32');
 * console.log(liveCounts().storages - before); // 1
 * ```
 */
export function liveCounts(): LiveCounts {
  settle();
  const sum: { -readonly [Name in keyof LiveCounts]: number } = { ...none };
  for (const source of memorySources) {
    for (const [name, count] of Object.entries(source.count?.() ?? {})) sum[name as keyof LiveCounts] += count;
  }
  return sum;
}

/**
 * Lists what is alive and was made on this thread since debug mode began, grouped by the line that made it: count,
 * bytes, dtype, shape and device, the most bytes first.
 *
 * @returns One entry for each line and kind of tensor.
 * @throws ArgumentValueError unless debug mode is on.
 * @example
 * ```ts
 * import { Tensor } from 'dlpack';
 * import { leaks, setDebug } from 'dlpack/debug';
 * setDebug(true);
 * const x = Tensor.zeros([1000], 'float32');
 * console.log(leaks()[0]?.shape); // [1000]
 * ```
 */
export function leaks(): Leak[] {
  if (!isDebug()) {
    throw new ArgumentValueError('setDebug (or DLPACK_DEBUG=1)', 'true, before the tensors are made,', false);
  }
  settle();
  return liveOrigins();
}

/**
 * Returns the memory of released tensors to the system, which otherwise waits for new tensors: large blocks of the host,
 * which wait for a second, the pool of a CUDA device, for which this waits, and large GPUBuffers.
 *
 * @param device - Only the memory of this device: `'cpu'`, `'cuda:0'`, a GPUDevice.
 * @throws UnsupportedDeviceError for an unknown device.
 * @example
 * ```ts
 * import { Tensor } from 'dlpack';
 * import { emptyCache } from 'dlpack/debug';
 * Tensor.zeros([1024, 1024], 'float32').dispose();
 * emptyCache('cpu'); // the system has the memory again
 * ```
 */
export function emptyCache(device?: DeviceArgument): void {
  const info = device === undefined ? null : parseDevice(device);
  for (const source of memorySources) source.empty?.(info);
}
