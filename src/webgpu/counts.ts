/**
 * Counts of the GPUBuffers that tensors hold and, in debug mode, where they were made.
 *
 * @module
 */

import { isDebug, liveGpuOrigins, type Origin, recordGpuBuffer } from '../storage/debug.js';

export interface GpuStats {
  /** GPUBuffers that tensors hold: made here, or taken over from a library. */
  readonly buffers: number;
  /** Bytes of the tensors' memory in them. */
  readonly bytes: number;
  /** In debug mode: where they were made. */
  readonly live?: readonly Origin[];
}

let buffers = 0;
let bytes = 0;

/** Counts a buffer until its release. */
export function counted(nbytes: number, release: () => void): () => void {
  const forget = isDebug() ? recordGpuBuffer() : null;
  buffers++;
  bytes += nbytes;
  return () => {
    buffers--;
    bytes -= nbytes;
    forget?.();
    release();
  };
}

/** How many GPUBuffers tensors hold; with `setDebug(true)` also where each was made. */
export function gpuStats(): GpuStats {
  return isDebug() ? { buffers, bytes, live: liveGpuOrigins() } : { buffers, bytes };
}
