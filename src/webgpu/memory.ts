/** GPUBuffers that this module makes, and checks of those that others made. */

import type { DeviceInfo } from '../device.js';
import { BufferError, OutOfMemoryError } from '../errors.js';
import { isDebug, record } from '../storage/debug.js';
import type { Descriptor } from '../storage/descriptor.js';
import { type GPUBufferLike, GpuStorage, type Storage } from '../storage/storage.js';
import { type GpuBuffer, Usage } from './api.js';
import { counted } from './counts.js';
import { type DeviceState, stateOf, stateOfDevice } from './device-state.js';
import { roundUp } from './move.js';

/** ONNX Runtime reads tensors in vectors of 16 bytes, so a buffer that it may get has a multiple of 16 bytes. */
const PADDING = 16;

const sizeFor = (nbytes: number): number => Math.max(PADDING, roundUp(nbytes, PADDING));

export function createBuffer(state: DeviceState, nbytes: number, usage: number): GpuBuffer {
  state.checkAlive();
  const size = sizeFor(nbytes);
  const { maxBufferSize } = state.gpuDevice.limits;
  if (size > maxBufferSize) {
    throw new OutOfMemoryError(
      `a GPUBuffer on '${state.name}' can have ${maxBufferSize} bytes, but a tensor needs ${size}; ` +
        'request the device with requiredLimits: { maxBufferSize }',
      size,
    );
  }
  return state.gpuDevice.createBuffer({ size, usage, label: 'dlpack' });
}

/** A storage over a GPUBuffer, which `dlpack/debug` counts until the last owner calls `release`. */
export function gpuStorage(buffer: GPUBufferLike, gpuDevice: object, nbytes: number, release: () => void): GpuStorage {
  const end = counted(nbytes, release);
  const storage = new GpuStorage(buffer, gpuDevice, nbytes, end);
  if (isDebug()) record('gpu-buffer', end, storage);
  return storage;
}

/**
 * A buffer for a tensor. The last owner releases it: a small buffer is destroyed, and a large one is kept for the next
 * tensor of its size. WebGPU runs the work of a device in order, so earlier work with the buffer finishes first.
 */
export function allocateBuffer(state: DeviceState, nbytes: number): GpuStorage {
  state.checkAlive();
  const buffer =
    state.spares.take(sizeFor(nbytes)) ??
    createBuffer(state, nbytes, Usage.storage | Usage.copySource | Usage.copyTarget);
  return gpuStorage(buffer, state.gpuDevice, nbytes, () => state.spares.add(buffer));
}

export function allocate(nbytes: number, device: DeviceInfo): Storage {
  return allocateBuffer(stateOfDevice(device), nbytes);
}

/** The GPUBuffer and the GPUDevice of a tensor. */
export function memoryOf({ storage }: Descriptor): { buffer: GpuBuffer; state: DeviceState } {
  if (!(storage instanceof GpuStorage)) throw new BufferError('Expected memory in a GPUBuffer');
  const buffer = storage.gpuBuffer as GpuBuffer;
  const state = stateOf(storage.gpuDevice);
  state.checkAlive();
  if (buffer.mapState !== undefined && buffer.mapState !== 'unmapped') {
    throw new BufferError(
      `Expected an unmapped GPUBuffer on '${state.name}' but its owner has mapped it; call unmap()`,
    );
  }
  return { buffer, state };
}

export const hasUsage = (buffer: GpuBuffer, usage: number): boolean => (buffer.usage & usage) !== 0;

export function clear(storage: Storage, device: DeviceInfo, count: number): void {
  const state = stateOfDevice(device);
  state.checkAlive();
  const encoder = state.gpuDevice.createCommandEncoder();
  // From a multiple of four bytes to the end of the buffer. The memory is new, so no byte before has a value.
  encoder.clearBuffer((storage as GpuStorage).gpuBuffer, Math.floor((storage.nbytes - count) / 4) * 4);
  state.gpuDevice.queue.submit([encoder.finish()]);
}
