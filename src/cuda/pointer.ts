/**
 * What the driver knows of an address.
 *
 * @module
 */

import { type Device, type DeviceInfo, parseDevice } from '../device.js';
import { ArgumentTypeError, ArgumentValueError } from '../errors.js';
import { cuda, driverError } from './driver.js';
import { ADDRESS, i32, STATUS, u64, VALUES } from './frame.js';

/** What an address belongs to. */
export interface PointerAttributes {
  /** `'cuda:0'`, `'cuda_host'` for pinned memory, `'cuda_managed'`. */
  readonly device: Device;
  /** The device that the memory was allocated on or for. */
  readonly deviceId: number;
  /** The `CUcontext` that owns it; `0n` for memory of a pool, which belongs to none. */
  readonly context: bigint;
  readonly isHostAccessible: boolean;
  readonly isManaged: boolean;
  /** The address for code on the device. */
  readonly devicePointer: bigint;
  /** The address for code on the processor; null when it has none. */
  readonly hostPointer: bigint | null;
  /** The allocation that the address lies in. */
  readonly rangeStart: bigint;
  readonly rangeSize: number;
}

const INVALID_VALUE = 1;
const HOST_MEMORY = 1;

/** What the driver knows of an address; null for memory that it does not know, such as ordinary host memory. */
export function pointerAttributes(address: bigint): PointerAttributes | null {
  if (typeof address !== 'bigint') throw new ArgumentTypeError('address', 'a bigint', address);
  if (BigInt.asUintN(64, address) !== address)
    throw new ArgumentValueError('address', 'an unsigned 64-bit address', address);
  const binding = cuda();
  u64[ADDRESS] = address;
  binding.pointerAttributes();
  const status = i32[STATUS] as number;
  const [context, type, devicePointer, hostPointer, managed, ordinal, rangeStart, rangeSize] = u64.subarray(
    VALUES,
    VALUES + 8,
  ) as unknown as [bigint, bigint, bigint, bigint, bigint, bigint, bigint, bigint];
  // Older drivers refuse addresses they do not know, newer ones know nothing of them.
  if (status === INVALID_VALUE || (status === 0 && type === 0n)) return null;
  if (status !== 0) throw driverError('the attributes of an address', status);
  const isManaged = managed !== 0n;
  const isHost = Number(type) === HOST_MEMORY;
  const deviceId = Number(BigInt.asIntN(64, ordinal));
  return {
    device: isManaged ? 'cuda_managed' : isHost ? 'cuda_host' : `cuda:${deviceId}`,
    deviceId,
    context,
    isHostAccessible: isManaged || hostPointer !== 0n,
    isManaged,
    devicePointer,
    hostPointer: hostPointer === 0n ? null : hostPointer,
    rangeStart,
    rangeSize: Number(rangeSize),
  };
}

/** The true device of an address; null when the driver does not know it. */
export function deviceOfPointer(address: bigint): DeviceInfo | null {
  const attributes = pointerAttributes(address);
  return attributes === null ? null : parseDevice(attributes.device);
}
