/** The part of a CUDA driver that spans need. This module does not import a driver: `dlpack/cuda` registers it. */

import { ArgumentTypeError, isUsable, UnsupportedDeviceError } from '../errors.js';

/** Knows which device an address belongs to. `dlpack/cuda` is one. */
export interface PointerDriver {
  /**
   * Returns the number of the device that an address belongs to (`cuPointerGetAttributes`), or null.
   *
   * @param address - Any address.
   */
  deviceOrdinal(address: bigint): number | null;
}

let driver: PointerDriver | null = null;

/**
 * Registers the driver that finds the device of an address. `dlpack/cuda` registers its own.
 *
 * @param next - The driver; null removes it.
 * @throws ArgumentTypeError for anything else.
 * @example
 * ```ts
 * import { DLPACK_DEVICE } from 'dlpack';
 * import { deviceMdspan, extents, setPointerDriver } from 'dlpack/mdspan';
 * setPointerDriver({ deviceOrdinal: () => 1 });
 * console.log(deviceMdspan(4096n, extents(2), { dtype: 'float32' })[DLPACK_DEVICE]().id); // 1
 * setPointerDriver(null);
 * ```
 */
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
