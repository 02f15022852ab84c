/**
 * Memory that spans use but do not own.
 *
 * @module
 */

import { cpu, type DeviceInfo } from '../device.js';
import { ArgumentTypeError, ArgumentValueError, BufferError, DisposedError } from '../errors.js';
import { getBackend } from '../storage/backend.js';
import { BufferStorage, type Storage } from '../storage/storage.js';

export interface Memory {
  readonly nbytes: number;
  /** The device of the memory; null for an address that was given without a device. */
  readonly device: DeviceInfo | null;
  /** Throws if the owner released the memory, or if this process cannot access it. */
  storage(): Storage;
  /** The address of byte 0; null without native code. */
  address(): bigint | null;
}

/** Memory of a Tensor, a TensorView or a JavaScript buffer. */
class StorageMemory implements Memory {
  readonly nbytes: number;
  readonly device: DeviceInfo | null;
  readonly #storage: Storage;

  constructor(storage: Storage, nbytes: number, device: DeviceInfo | null) {
    this.#storage = storage;
    this.nbytes = nbytes;
    this.device = device;
  }

  storage(): Storage {
    if (this.#storage.refs === 0) {
      throw new DisposedError(
        'Expected live memory under this span but its tensor was disposed; a span does not own, keep the tensor as long as the span',
      );
    }
    return this.#storage;
  }

  address(): bigint | null {
    return getBackend()?.addressOf(this.storage()) ?? null;
  }
}

/** Memory at a native address that the caller keeps alive. */
class AddressMemory implements Memory {
  readonly nbytes: number;
  readonly device: DeviceInfo | null;
  readonly #address: bigint;
  #storage: Storage | null = null;

  constructor(address: bigint, nbytes: number, device: DeviceInfo | null) {
    this.#address = address;
    this.nbytes = nbytes;
    this.device = device;
  }

  storage(): Storage {
    if (this.#storage !== null) return this.#storage;
    const backend = getBackend();
    if (backend === null) {
      throw new BufferError(
        'Expected a typed array or a Tensor under this span but it lies at a native address, and this runtime has no native code to follow it',
      );
    }
    this.#storage = backend.importAddress(this.#address, this.nbytes, () => {});
    return this.#storage;
  }

  address(): bigint {
    return this.#address;
  }
}

/** The first `nbytes` bytes of a storage. */
export function storageMemory(storage: Storage, nbytes: number, device: DeviceInfo | null): Memory {
  return new StorageMemory(storage, nbytes, device);
}

export function bufferMemory(buffer: ArrayBufferLike, start: number, nbytes: number): Memory {
  return new StorageMemory(new BufferStorage(buffer, start, nbytes), nbytes, cpu);
}

export function addressMemory(address: bigint, nbytes: number, device: DeviceInfo | null): Memory {
  if (typeof address !== 'bigint') throw new ArgumentTypeError('address', 'a bigint', address);
  if (address < 0n || address >= 1n << 64n || (address === 0n && nbytes > 0)) {
    throw new ArgumentValueError('address', 'an address of 64 bits, not NULL where there are elements', address);
  }
  return new AddressMemory(address, nbytes, device);
}
