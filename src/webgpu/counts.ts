/** Counts of the GPUBuffers that tensors hold and, in debug mode, where they were made. */

import { forget, isDebug, type Origin, originsOf, record } from '../storage/debug.js';

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
  const end = () => {
    buffers--;
    bytes -= nbytes;
    forget('gpu-buffer', end);
    release();
  };
  buffers++;
  bytes += nbytes;
  if (isDebug()) record('gpu-buffer', end);
  return end;
}

/** How many GPUBuffers tensors hold; with `setDebug(true)` also where each was made. */
export function gpuStats(): GpuStats {
  return isDebug() ? { buffers, bytes, live: originsOf('gpu-buffer') } : { buffers, bytes };
}
