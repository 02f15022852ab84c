/** The producer side of the JavaScript protocol: managed tensors from memory this package holds. */

import { cpu, type DeviceInfo } from '../device.js';
import { BufferError } from '../errors.js';
import { getBackend } from '../storage/backend.js';
import { Descriptor, KNOWN_FLAGS } from '../storage/descriptor.js';
import { getDeviceBackend } from '../storage/device-backend.js';
import { findLayout } from '../storage/layouts.js';
import { cannotKeep, GpuStorage, releaseOnError, type Storage } from '../storage/storage.js';
import { isWasmMemory, WasmStorage } from '../storage/wasm-storage.js';
import { copyDescriptor } from '../values/copy.js';
import { DLPACK_VERSION, type ManagedTensor } from './managed.js';
import { asBufferError, type Wanted } from './request.js';
import { checkStream } from './streams.js';

/**
 * Answers a protocol request with memory that this package holds. `isSole`: nobody else has the memory, so a copy stays
 * marked as one.
 */
export function produce(source: Descriptor, wanted: Wanted, isSole = false): ManagedTensor | object {
  const device = targetOf(source, wanted);
  checkStream(device, wanted.stream);
  checkForm(device, wanted);
  return asBufferError(() => {
    const memory = placed(source, device, wanted, isSole);
    return releaseOnError(memory, () => {
      handOver(memory, wanted.stream);
      const descriptor = labelled(memory, device);
      const external = wanted.native === false ? null : exportNative(descriptor, wanted);
      if (external === null) return manage(descriptor, wanted);
      descriptor.release();
      return external;
    });
  });
}

/** The device that the consumer wants. */
function targetOf(source: Descriptor, { device, isDeviceKnown }: Wanted): DeviceInfo {
  if (device === null) return source.device;
  if (isDeviceKnown) return device;
  // Each library numbers GPUDevices by itself, so the consumer compares the GPUDevice that it receives.
  if (source.device.kind === 'webgpu') return source.device;
  throw new BufferError(
    `Expected a request for '${source.device.name}', or one with a gpuDevice, but the consumer asks for 'webgpu' without one`,
  );
}

/** Throws if no form of the data that the consumer takes exists for memory on this device. */
function checkForm(device: DeviceInfo, { native }: Wanted): void {
  if (device.kind === 'webgpu') {
    if (native !== 'only') return;
    throw new BufferError("Expected a consumer of GPUBuffers but it takes only native externals; ask without 'only'");
  }
  if (device.isHostAccessible || native !== false) return;
  throw new BufferError(
    `Expected native: true in a request for memory on '${device.name}', which has no JavaScript buffer; or ask for host memory`,
  );
}

/** The tensor where the device can use it, with a reference that the caller owns: shared if it can be, else a copy. */
function placed(source: Descriptor, device: DeviceInfo, { copy }: Wanted, isSole: boolean): Descriptor {
  const isReachable = device === source.device || (device === cpu && source.device.isHostAccessible);
  const isWhole = (source.bitOffset & 7) === 0;
  if (copy !== true && isReachable && isWhole) {
    source.storage.refs++;
    return isSole ? source : source.asShared();
  }
  if (copy !== false) return copyDescriptor(source, device);
  throw new BufferError(
    isReachable
      ? `Expected ${source.dtype.name} elements that start on a byte (copy: false) but this view starts inside one; allow a copy`
      : `Expected a request for '${source.device.name}' (copy: false) but the consumer asks for '${device.name}'; allow a copy`,
  );
}

/** The tensor with the device that the consumer asked for: pinned or managed memory becomes plain host memory. */
function labelled(memory: Descriptor, device: DeviceInfo): Descriptor {
  if (memory.device === device) return memory;
  const { dtype, shape, strides, flags } = memory.layout;
  return new Descriptor(memory.storage, findLayout(dtype, device, shape, strides, flags), memory.bitOffset);
}

/** A native external, or null. A consumer that accepts only an external gets a copy of memory that it cannot keep. */
function exportNative(descriptor: Descriptor, { native, copy }: Wanted): object | null {
  const backend = getBackend();
  const isNeeded = native === 'only';
  const external = (backend?.exportExternal(descriptor, isNeeded && copy !== false) ?? null) as object | null;
  if (external !== null || !isNeeded) return external;
  if (backend !== null) throw cannotKeep('(copy: false)');
  throw new BufferError('Expected native code for a native external but this runtime has none; ask for a buffer');
}

/** Makes the data ready for work that the consumer queues on its stream, or for the CPU. */
function handOver(descriptor: Descriptor, stream: bigint | null): void {
  const { device } = descriptor;
  const backend = getDeviceBackend(device);
  // Streams can use managed memory, too. Without a stream its consumer is the CPU.
  if (device.isHostAccessible && stream === null) backend?.settle?.(descriptor.storage, device);
  else if (backend !== null) backend.handOver(descriptor, stream);
  else if (stream !== null && stream !== -1n) {
    throw new BufferError(
      `Expected stream null or -1n for a tensor on '${device.name}', whose streams this process does not know, but received ${String(stream)}`,
    );
  }
}

/** A managed tensor that takes over one reference to the storage. */
function manage(given: Descriptor, wanted: Wanted): ManagedTensor {
  const descriptor = given.storage instanceof WasmStorage ? inPlace(given, wanted) : given;
  const { storage, dtype, device } = descriptor;
  return {
    version: DLPACK_VERSION,
    flags: descriptor.flags & KNOWN_FLAGS,
    data:
      storage instanceof GpuStorage
        ? { gpuBuffer: storage.gpuBuffer, gpuDevice: storage.gpuDevice }
        : storage instanceof WasmStorage
          ? storage.memory
          : exportBuffer(descriptor),
    byteOffset: storage.start + descriptor.bitOffset / 8,
    shape: descriptor.layout.publicShape,
    strides: descriptor.layout.publicStrides,
    dtype: { code: dtype.code, bits: dtype.bits, lanes: dtype.lanes },
    device: { type: device.type, id: device.id },
    deleter: releaseOnce(storage),
  };
}

/**
 * Memory of a WebAssembly module moves when it grows, so only a consumer that follows it can share it. Others get a copy,
 * for which this drops the reference.
 */
function inPlace(descriptor: Descriptor, { memory, copy }: Wanted): Descriptor {
  if (memory && isWasmMemory((descriptor.storage as WasmStorage).memory)) return descriptor;
  if (copy !== false) {
    const copied = copyDescriptor(descriptor);
    descriptor.release();
    return copied;
  }
  throw new BufferError(
    'Expected a consumer that follows a WebAssembly memory when it grows (copy: false); ask with memory: true, or allow a copy',
  );
}

/** Releases the storage at the first call and then forgets it, so that a managed tensor that somebody keeps holds nothing. */
function releaseOnce(storage: Storage): () => void {
  let held: Storage | null = storage;
  return () => {
    const released = held;
    held = null;
    released?.release();
  };
}

function exportBuffer(descriptor: Descriptor): ArrayBufferLike {
  descriptor.checkHost();
  return descriptor.storage.buffer();
}
