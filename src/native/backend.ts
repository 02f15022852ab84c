/**
 * The backend that Node, Bun and Deno hand to the core.
 *
 * @module
 */

import type { DeviceInfo } from '../device.js';
import { ArgumentValueError } from '../errors.js';
import type { Backend } from '../storage/backend.js';
import type { Storage } from '../storage/storage.js';
import { convert, convertAsync, overlaps } from './convert.js';
import { exportExternal, storageAddress } from './export.js';
import { Field, frame } from './frame.js';
import { importExternal } from './import.js';
import { native } from './load.js';
import { NativeStorage } from './native-storage.js';
import { pinBuffer } from './pin-buffer.js';
import { checkPinned, pin } from './pins.js';
import { checkStatus } from './status.js';
import { isMainThread } from './threads.js';

const { f64, u32, u64 } = frame;
const { ADDRESS, BYTE_OFFSET, HANDLE, NBYTES } = Field;

export const nativeBackend: Backend = {
  allocate(nbytes: number, device: DeviceInfo): Storage | null {
    if (device.kind !== 'cpu') return null;
    const binding = native();
    f64[NBYTES] = nbytes;
    binding.allocate();
    checkStatus();
    return new NativeStorage(u32[HANDLE] as number, nbytes, false).recorded();
  },
  // A worker's heap ends with it: there the memory is copied once, into native memory, by the caller.
  adopt: (buffer: ArrayBuffer): Storage | null => (isMainThread ? pinBuffer(buffer, 0, buffer.byteLength) : null),
  importAddress(address: bigint, nbytes: number, deleter: () => void): Storage {
    if (BigInt.asUintN(64, address) !== address) {
      throw new ArgumentValueError('address', 'an unsigned 64-bit bigint', address);
    }
    const binding = native();
    u64[ADDRESS] = address;
    f64[NBYTES] = nbytes;
    const id = pin(deleter);
    f64[BYTE_OFFSET] = id;
    binding.pinAddress();
    checkPinned(id);
    // Its deleter is JavaScript of this thread and ends with it, and the memory may, too.
    return new NativeStorage(u32[HANDLE] as number, nbytes, true).recorded();
  },
  addressOf: storageAddress,
  importExternal,
  exportExternal,
  convert,
  convertAsync,
  overlaps,
};
