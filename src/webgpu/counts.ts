/** Counts of the GPUBuffers that tensors hold, for `dlpack/debug`; the release of those that wait for new tensors. */

import { gpuDeviceOf } from '../device.js';
import { forget } from '../storage/debug.js';
import { memorySources } from '../storage/memory-sources.js';
import { allStates, stateOf } from './device-state.js';

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
  return end;
}

/** Registers with the core. */
export function registerCounts(): void {
  memorySources.push({
    count: () => ({
      gpuBuffers: buffers,
      gpuBytes: bytes,
      kept: allStates().reduce((sum, { spares }) => sum + spares.nbytes, 0),
    }),
    empty(device) {
      const gpuDevice = device === null ? null : gpuDeviceOf(device);
      const states = device === null ? allStates() : gpuDevice === null ? [] : [stateOf(gpuDevice)];
      for (const state of states) state.emptyCache();
    },
  });
}
