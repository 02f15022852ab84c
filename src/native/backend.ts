/**
 * The backend that Node, Bun and Deno hand to the core.
 *
 * @module
 */

import type { Backend } from '../backend.js';
import type { DeviceInfo } from '../device.js';
import type { Storage } from '../storage.js';
import { convert, convertAsync, overlaps } from './convert.js';
import { exportExternal } from './export.js';
import { ADDRESS, BYTE_OFFSET, f64, HANDLE, NBYTES, u32, u64 } from './frame.js';
import { importExternal } from './import.js';
import { native } from './load.js';
import { NativeStorage } from './native-storage.js';
import { pinBuffer } from './pin-buffer.js';
import { pin } from './pins.js';
import { checkStatus } from './status.js';

export const nativeBackend: Backend = {
  allocate(nbytes: number, device: DeviceInfo): Storage | null {
    if (device.kind !== 'cpu' || device.id !== 0) return null;
    f64[NBYTES] = nbytes;
    native().allocate();
    checkStatus();
    return new NativeStorage(u32[HANDLE] as number, nbytes, false);
  },
  adopt: (buffer: ArrayBuffer): Storage => pinBuffer(buffer, 0, buffer.byteLength),
  importAddress(address: bigint, nbytes: number, deleter: () => void): Storage {
    u64[ADDRESS] = address;
    f64[NBYTES] = nbytes;
    f64[BYTE_OFFSET] = pin(deleter);
    native().pinAddress();
    checkStatus();
    return new NativeStorage(u32[HANDLE] as number, nbytes, false);
  },
  importExternal,
  exportExternal,
  convert,
  convertAsync,
  overlaps,
};
