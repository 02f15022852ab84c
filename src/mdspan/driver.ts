/**
 * What spans ask of a CUDA driver, when there is one. This module imports none: `dlpack/cuda` hands one in.
 *
 * @module
 */

import { ArgumentTypeError, UnsupportedDeviceError } from '../errors.js';

export interface PointerDriver {
  /** The number of the device that an address belongs to (`cuPointerGetAttributes`), null when it belongs to none. */
  deviceOrdinal(address: bigint): number | null;
}

let driver: PointerDriver | null = null;

/** Hands a driver in; null takes it away. */
export function setPointerDriver(next: PointerDriver | null): void {
  if (next !== null && typeof next?.deviceOrdinal !== 'function') {
    throw new ArgumentTypeError('driver', 'an object with deviceOrdinal(), or null', next);
  }
  driver = next;
}

/** The device of a pointer whose span was not told. A wrong guess would send work to another device: there is none. */
export function deviceOrdinal(address: bigint): number {
  const ordinal = driver?.deviceOrdinal(address) ?? null;
  if (ordinal === null) {
    throw new UnsupportedDeviceError(
      'cuda',
      `Expected a device for address 0x${address.toString(16)} but ${driver === null ? 'there is no CUDA driver to ask' : 'the driver knows none'} ` +
        '(failed to get device ordinal of a pointer); name it when making the span: { deviceId: 0 }',
    );
  }
  return ordinal;
}
