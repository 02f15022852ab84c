/** The backends that Node, Bun and Deno register with the core: one for native memory, one for SharedArrayBuffers. */

import { ArgumentValueError } from '../errors.js';
import type { Backend } from '../storage/backend.js';
import { bufferLength, type Storage } from '../storage/storage.js';
import { convert, convertAsync, copy, overlaps } from './convert.js';
import { exportExternal, storageAddress } from './exchange/export.js';
import { importExternal } from './exchange/import.js';
import { native } from './load/load.js';
import { hostSharing } from './memory/host-sharing.js';
import { pinAddress, pinBuffer } from './memory/pin-buffer.js';
import { allocateShared, usesSharedBuffers } from './memory/shared-buffers.js';
import { NativeStorage } from './memory/storage.js';
import { isMainThread } from './memory/threads.js';
import { Status } from './wire/constants.js';
import { errorOf } from './wire/status.js';
import { enter, request } from './wire/wire.js';
import { AllocateRequest } from './wire/wire-layout.js';
import { writeFew, writeNested } from './write-nested.js';

function allocate(nbytes: number, cleared: number): Storage {
  const binding = native();
  const slot = enter(AllocateRequest.WORDS);
  AllocateRequest.setNbytes(slot, nbytes);
  AllocateRequest.setCleared(slot, cleared);
  request(slot, () => binding.allocate());
  const status = AllocateRequest.status(slot);
  if (status !== Status.ok) throw errorOf(status, nbytes);
  return new NativeStorage(AllocateRequest.handle(slot), nbytes, false);
}

const nativeBackend: Backend = {
  allocate,
  // A worker's heap ends with the worker, so there the caller copies the memory once, into native memory.
  adopt: (buffer: ArrayBuffer): Storage | null =>
    isMainThread() ? pinBuffer(buffer, 0, bufferLength(buffer) as number) : null,
  importAddress(address: bigint, nbytes: number, deleter: () => void): Storage {
    if (BigInt.asUintN(64, address) !== address) {
      throw new ArgumentValueError('address', 'an unsigned 64-bit bigint', address);
    }
    return pinAddress(address, nbytes, deleter);
  },
  addressOf: storageAddress,
  importExternal,
  exportExternal,
  writeNested,
  writeFew,
  copy,
  convert,
  convertAsync,
  sharing: hostSharing,
  overlaps,
};

/** Allocates nothing in native code. */
const sharedBackend: Backend = {
  ...nativeBackend,
  allocate: (nbytes, cleared) => (nbytes === 0 ? null : allocateShared(nbytes)) ?? allocate(nbytes, cleared),
  writeNested: () => null,
  writeFew: () => null,
  copy: () => null,
};

let chosen: Backend | null = null;

/** The backend for this runtime. It is chosen at the first use. */
export function hostBackend(): Backend {
  chosen ??= usesSharedBuffers() ? sharedBackend : nativeBackend;
  return chosen;
}
