/** The part of a CUDA driver that spans need. This module does not import a driver: `dlpack/cuda` registers it. */

import { ArgumentTypeError, isUsable, UnsupportedDeviceError } from '../errors.js';

/** Knows which device an address belongs to. `dlpack/cuda` is one. */
export interface PointerDriver {
  /** The number of the device that an address belongs to (`cuPointerGetAttributes`), or null. */
  deviceOrdinal(address: bigint): number | null;
}

let driver: PointerDriver | null = null;

/** Registers a driver; null removes it. */
export function setPointerDriver(next: PointerDriver | null): void {
  if (next !== null && !(isUsable(next) && typeof next.deviceOrdinal === 'function')) {
    throw new ArgumentTypeError('driver', 'an object with deviceOrdinal(), or null', next);
  }
  driver = next;
}

/**
 * Finds the device of a pointer that was given without a device. Never guesses, because a wrong guess would send work
 * to another device.
 */
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
