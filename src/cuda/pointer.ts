/** The driver's attributes of an address. */

import type { Device } from '../device.js';
import { ArgumentTypeError, ArgumentValueError } from '../errors.js';
import { wire } from '../native/wire.js';
import { check } from './driver.js';
import { begin, send } from './requests.js';
import { PointerRequest } from './wire-layout.js';

/** The memory that an address belongs to. */
export interface PointerAttributes {
  /** `'cuda:0'`, `'cuda_host'` for pinned memory, `'cuda_managed'`. */
  readonly device: Device;
  /** The device that the memory was allocated on or for. */
  readonly deviceId: number;
  /** The `CUcontext` that owns the memory; `0n` for memory of a pool, which belongs to no context. */
  readonly context: bigint;
  readonly isHostAccessible: boolean;
  readonly isManaged: boolean;
  /** The address for code on the device. */
  readonly devicePointer: bigint;
  /** The address for code on the CPU; null when there is none. */
  readonly hostPointer: bigint | null;
  /** The allocation that the address lies in. */
  readonly rangeStart: bigint;
  readonly rangeSize: number;
}

const { i32, u32, u64 } = wire;

const INVALID_VALUE = 1;
const HOST_MEMORY = 1;

/** The driver's attributes of an address; null for memory unknown to the driver, such as ordinary host memory. */
export function pointerAttributes(address: bigint): PointerAttributes | null {
  if (typeof address !== 'bigint') throw new ArgumentTypeError('address', 'a bigint', address);
  if (BigInt.asUintN(64, address) !== address)
    throw new ArgumentValueError('address', 'an unsigned 64-bit address', address);
  const slot = begin(PointerRequest.WORDS, 0);
  u64[slot + PointerRequest.ADDRESS] = address;
  const status = send(slot, 'pointerAttributes');
  const word = (index: number): bigint => u64[slot + index] as bigint;
  const type = u32[slot * 2 + PointerRequest.MEMORY_TYPE];
  // For an unknown address, older drivers return an error and newer ones a memory type of 0.
  if (status === INVALID_VALUE || (status === 0 && type === 0)) return null;
  check(status, 'the attributes of an address');
  const isManaged = u32[slot * 2 + PointerRequest.IS_MANAGED] !== 0;
  const deviceId = i32[slot * 2 + PointerRequest.DEVICE] as number;
  const hostPointer = word(PointerRequest.HOST_POINTER);
  return {
    device: isManaged ? 'cuda_managed' : type === HOST_MEMORY ? 'cuda_host' : `cuda:${deviceId}`,
    deviceId,
    isHostAccessible: isManaged || hostPointer !== 0n,
    isManaged,
    hostPointer: hostPointer === 0n ? null : hostPointer,
    context: word(PointerRequest.CONTEXT),
    devicePointer: word(PointerRequest.DEVICE_POINTER),
    rangeStart: word(PointerRequest.RANGE_START),
    rangeSize: Number(word(PointerRequest.RANGE_SIZE)),
  };
}
