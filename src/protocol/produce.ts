/** The producer side of the JavaScript protocol: managed tensors from memory this package holds. */

import { checkObject } from '../base/options.js';
import { DeviceType, deviceFromType } from '../device.js';
import { BufferError } from '../errors.js';
import { getBackend } from '../storage/backend.js';
import { type Descriptor, KNOWN_FLAGS } from '../storage/descriptor.js';
import { getDeviceBackend } from '../storage/device-backend.js';
import { GpuStorage, releaseAfter } from '../storage/storage.js';
import { copyDescriptor } from '../values/copy.js';
import { DLPACK_VERSION, type DLPackRequest, type ManagedTensor } from './managed.js';

/** Answers a protocol request with memory that this package holds. */
export function produce(source: Descriptor, request: DLPackRequest): ManagedTensor | object {
  checkObject(request, '{ copy: true }', 'request');
  const { maxVersion, device: wanted } = request;
  const major = maxVersion?.[0];
  if (typeof major === 'number' && major < DLPACK_VERSION[0]) {
    throw new BufferError(
      `Expected a consumer of DLPack ${DLPACK_VERSION[0]}.x but it takes at most ${major}.${String(maxVersion?.[1])}`,
    );
  }
  // Each copy of the package numbers GPUDevices by itself, so the consumer compares the GPUDevice that it receives.
  const isOwn = wanted == null || (wanted.type === DeviceType.webgpu && source.device.kind === 'webgpu');
  const device = isOwn ? source.device : deviceFromType(wanted.type, wanted.id);
  const isMoved = device !== source.device;
  if (isMoved && (request.copy === false || getDeviceBackend(source.device) === null)) {
    throw new BufferError(
      `Expected a request for '${source.device.name}' but the consumer asks for '${device.name}'; copy it there first with to()`,
    );
  }
  const stream = request.stream ?? null;
  if (stream !== null && device.isHostAccessible && device.kind !== 'cuda_managed') {
    throw new BufferError(
      `Expected no stream for a tensor on '${device.name}' but received ${String(stream)}; pass null`,
    );
  }
  const isCopy = request.copy === true || isMoved;
  const descriptor = isCopy ? copyDescriptor(source, device) : source.shared();
  const { storage } = descriptor;
  // One reference until the consumer has its own. The managed tensor takes it over.
  if (!isCopy) storage.refs++;
  let external: object | null;
  try {
    handOver(descriptor, stream);
    external = request.native === true || request.native === 'only' ? exportNative(descriptor, request) : null;
    if (external === null) return manage(descriptor);
  } catch (error) {
    storage.release();
    throw error;
  }
  storage.release();
  return external;
}

/** A native external, or null. A consumer that accepts only an external gets a copy of memory that it cannot keep. */
function exportNative(descriptor: Descriptor, { native, copy }: DLPackRequest): object | null {
  const backend = getBackend();
  const external = (backend?.exportExternal(descriptor) ?? null) as object | null;
  if (external !== null || native !== 'only') return external;
  if (backend === null) {
    throw new BufferError('Expected native code for a native external but this runtime has none; ask for a buffer');
  }
  if (copy === false) {
    throw new BufferError(
      'Expected memory that native code may keep (copy: false) but this tensor lies in a JavaScript buffer that its owner ' +
        'can move or that ends with its worker; use Tensor.adopt or Tensor.from, or allow a copy',
    );
  }
  const kept = copyDescriptor(descriptor);
  return releaseAfter(kept, () => backend.exportExternal(kept) as object);
}

/** Makes the data ready for work that the consumer queues on its stream. */
function handOver(descriptor: Descriptor, stream: bigint | null): void {
  const { device } = descriptor;
  // Streams can use managed memory, too. Without a stream its consumer is the CPU.
  if (device.isHostAccessible && (device.kind !== 'cuda_managed' || stream === null)) return;
  const backend = getDeviceBackend(device);
  if (backend !== null) backend.handOver(descriptor, stream);
  else if (stream !== null && stream !== -1n) {
    throw new BufferError(
      `Expected stream null or -1n for a tensor on '${device.name}', whose streams this process does not know, but received ${String(stream)}`,
    );
  }
}

/** A managed tensor that owns one reference to the storage. Its deleter releases the reference, once. */
function manage(descriptor: Descriptor): ManagedTensor {
  const { storage, dtype, device } = descriptor;
  let held = true;
  if ((descriptor.bitOffset & 7) !== 0) {
    throw new BufferError(
      `Expected ${dtype.name} elements that start on a byte but this view starts inside one; export a copy() instead`,
    );
  }
  return {
    version: DLPACK_VERSION,
    flags: descriptor.flags & KNOWN_FLAGS,
    data:
      storage instanceof GpuStorage
        ? { gpuBuffer: storage.gpuBuffer, gpuDevice: storage.gpuDevice }
        : exportBuffer(descriptor),
    byteOffset: storage.start + descriptor.bitOffset / 8,
    shape: descriptor.publicShape,
    strides: descriptor.publicStrides,
    dtype: { code: dtype.code, bits: dtype.bits, lanes: dtype.lanes },
    device: { type: device.type, id: device.id },
    deleter: () => {
      if (held) {
        held = false;
        storage.release();
      }
    },
  };
}

function exportBuffer(descriptor: Descriptor): ArrayBufferLike {
  descriptor.checkHost();
  return descriptor.storage.buffer();
}
