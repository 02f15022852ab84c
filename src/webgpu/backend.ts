/** The WebGPU backend of the core: memory and copies. */

import { gpuBackend } from '../adapters/gpu-buffers.js';
import { BufferError } from '../errors.js';
import type { Descriptor } from '../storage/descriptor.js';
import { type DeviceBackend, setDeviceBackend } from '../storage/device-backend.js';
import { Usage } from './api.js';
import { copyElements, copyElementsAsync } from './copy.js';
import { registerCounts } from './counts.js';
import { fromImage } from './from-image.js';
import { borrowBuffer, lendBuffer, takeBuffer } from './lend.js';
import { allocate, clear, hasUsage, memoryOf } from './memory.js';

/** WebGPU has one queue for each device, which orders all work, so there is nothing to wait for. */
function checkNoStream({ device }: Descriptor, stream: bigint | null): void {
  if (stream === null) return;
  throw new BufferError(
    `Expected no stream for a tensor on '${device.name}' but received ${String(stream)}; pass null, because WebGPU has no streams`,
  );
}

/** A consumer could do nothing with a buffer that is mapped or cannot be bound, or whose device was lost. */
function handOver(descriptor: Descriptor, stream: bigint | null): void {
  checkNoStream(descriptor, stream);
  const { buffer } = memoryOf(descriptor);
  if (hasUsage(buffer, Usage.storage) && hasUsage(buffer, Usage.copySource) && buffer.size % 4 === 0) return;
  throw new BufferError(
    'Expected a GPUBuffer of a multiple of 4 bytes with the usages STORAGE and COPY_SRC, which other libraries rely on, but ' +
      `this one has ${buffer.size} bytes and the usage ${buffer.usage}; export a copy: x.copy()`,
  );
}

const webgpuBackend: DeviceBackend = {
  allocate,
  copy: copyElements,
  copyAsync: copyElementsAsync,
  clear,
  handOver,
  follow: checkNoStream,
  streams: null,
  arrayInterface: () => undefined,
  sharing: null,
};

/** Registers with the core. */
export function register(): void {
  setDeviceBackend(['webgpu'], webgpuBackend);
  registerCounts();
  gpuBackend.buffers = { image: fromImage, take: takeBuffer, borrow: borrowBuffer, lend: lendBuffer };
}
