/** Memory that spans use but do not own. */

import type { DeviceInfo } from '../device.js';
import { ArgumentTypeError, ArgumentValueError, BufferError, DisposedError } from '../errors.js';
import { getBackend } from '../storage/backend.js';
import type { Storage } from '../storage/storage.js';

/** The first bytes of a storage, or memory at a native address that the caller keeps alive. */
export class Memory {
  readonly #address: bigint | null;
  #storage: Storage | null;

  constructor(
    source: Storage | bigint,
    readonly nbytes: number,
    /** Null for an address that was given without a device. */
    readonly device: DeviceInfo | null,
  ) {
    this.#address = typeof source === 'bigint' ? source : null;
    this.#storage = typeof source === 'bigint' ? null : source;
  }

  /** Throws if the owner released the memory, or if this process cannot access it. */
  storage(): Storage {
    this.#storage ??= importAddress(this.#address as bigint, this.nbytes);
    if (this.#storage.refs === 0) {
      throw new DisposedError(
        'Expected live memory under this span but its tensor was disposed; a span does not own its memory, so keep the tensor as long as the span',
      );
    }
    return this.#storage;
  }

  /** The address of byte 0; null without native code. */
  address(): bigint | null {
    return this.#address ?? getBackend()?.addressOf(this.storage()) ?? null;
  }
}

function importAddress(address: bigint, nbytes: number): Storage {
  const backend = getBackend();
  if (backend !== null) return backend.importAddress(address, nbytes, () => {});
  throw new BufferError(
    'Expected a typed array or a Tensor under this span but it lies at a native address, and this runtime has no native code to follow it',
  );
}

export function addressMemory(address: bigint, nbytes: number, device: DeviceInfo | null): Memory {
  if (typeof address !== 'bigint') throw new ArgumentTypeError('address', 'a bigint', address);
  if (address < 0n || address >= 1n << 64n || (address === 0n && nbytes > 0)) {
    throw new ArgumentValueError('address', 'an address of 64 bits, not NULL where there are elements', address);
  }
  return new Memory(address, nbytes, device);
}
