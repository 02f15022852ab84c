/**
 * Messages on the wire: functions that read and write the fields of the message in a slot. Engines inline functions as
 * short as these.
 * Written by "npm run wire" from scripts/wire/messages.mjs; change it there.
 *
 * @module
 */

import { wire } from '../native/wire/memory.js';

const { f64, i32, u32, u64 } = wire;

/** New device memory, or host memory that devices can access, for work on a stream. */
export const DeviceAllocation = {
  /** The size of its slot. */
  WORDS: 4,
  /** The CUresult, written by native code. */
  status: (slot: number): number => i32[slot * 2] as number,
  setStatus: (slot: number, value: number): void => {
    i32[slot * 2] = value;
  },
  /** The number of the device. */
  device: (slot: number): number => i32[slot * 2 + 1] as number,
  setDevice: (slot: number, value: number): void => {
    i32[slot * 2 + 1] = value;
  },
  /** The storage in the table of the instance, written by native code. */
  handle: (slot: number): number => u32[slot * 2 + 2] as number,
  setHandle: (slot: number, value: number): void => {
    u32[slot * 2 + 2] = value;
  },
  /** A DLDeviceType. */
  deviceType: (slot: number): number => i32[slot * 2 + 3] as number,
  setDeviceType: (slot: number, value: number): void => {
    i32[slot * 2 + 3] = value;
  },
  /** The number of bytes. */
  nbytes: (slot: number): number => f64[slot + 2] as number,
  setNbytes: (slot: number, value: number): void => {
    f64[slot + 2] = value;
  },
  /** The driver's handle of a stream. */
  stream: (slot: number): bigint => u64[slot + 3] as bigint,
  setStream: (slot: number, value: bigint): void => {
    u64[slot + 3] = value;
  },
};
