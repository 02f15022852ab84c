/** The driver's attributes of an address. */

import type { Device } from '../../device.js';
import { ArgumentTypeError, ArgumentValueError } from '../../errors.js';
import { cuda, take } from '../driver.js';

/** The memory that an address belongs to. */
export interface PointerAttributes {
  /** `'cuda:0'`, `'cuda_host'` for pinned memory, `'cuda_managed'`. */
  readonly device: Device;
  /** The device that the memory was allocated on or for. */
  readonly deviceId: number;
  /** The `CUcontext` that owns the memory; `0n` for memory of a pool, which belongs to no context. */
  readonly context: bigint;
  /** Whether the CPU can read it. */
  readonly isHostAccessible: boolean;
  /** Whether it moves between host and GPU. */
  readonly isManaged: boolean;
  /** The address for code on the device. */
  readonly devicePointer: bigint;
  /** The address for code on the CPU; null when there is none. */
  readonly hostPointer: bigint | null;
  /** The allocation that the address lies in. */
  readonly rangeStart: bigint;
  /** Bytes of the allocation. */
  readonly rangeSize: number;
}

const INVALID_VALUE = 1;
const HOST_MEMORY = 1;

/**
 * Asks the driver what it knows of an address.
 *
 * @param address - An address of any memory.
 * @returns The attributes; null for memory unknown to the driver, such as ordinary host memory.
 * @throws ArgumentTypeError if it is no bigint, and ArgumentValueError if it has more than 64 bits.
 * @example
 * ```ts
 * import { Tensor } from 'dlpack';
 * import { pointerAttributes } from 'dlpack/cuda';
 * import { addressOf } from 'dlpack/native';
 * const x = Tensor.zeros([2, 3], 'float32', { device: 'cuda:0' });
 * console.log(pointerAttributes(addressOf(x))?.deviceId); // 0
 * ```
 */
export function pointerAttributes(address: bigint): PointerAttributes | null {
  if (typeof address !== 'bigint') throw new ArgumentTypeError('address', 'a bigint', address);
  if (BigInt.asUintN(64, address) !== address)
    throw new ArgumentValueError('address', 'an unsigned 64-bit address', address);
  const answer = cuda().pointerAttributes(address);
  // For an unknown address, older drivers return an error and newer ones a memory type of 0.
  if (answer === INVALID_VALUE) return null;
  const [memoryType, deviceId, isManaged, context, devicePointer, hostPointer, rangeStart, rangeSize] = take(
    answer,
    'the attributes of an address',
  );
  if (memoryType === 0) return null;
  return {
    device: isManaged ? 'cuda_managed' : memoryType === HOST_MEMORY ? 'cuda_host' : `cuda:${deviceId}`,
    deviceId,
    isHostAccessible: isManaged || hostPointer !== 0n,
    isManaged,
    hostPointer: hostPointer === 0n ? null : hostPointer,
    context,
    devicePointer,
    rangeStart,
    rangeSize: Number(rangeSize),
  };
}
