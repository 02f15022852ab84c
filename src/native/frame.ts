/**
 * The exchange frame: one block of memory that JavaScript and C++ both see. native/frame.h is its twin.
 *
 * Filled and read without a call in between that could run user code, so one frame serves a whole environment. The
 * arrays are used directly: an accessor for each field costs more than the call it is for.
 *
 * @module
 */

import { Descriptor, KNOWN_FLAGS } from '../descriptor.js';
import { cpu, type DeviceInfo, deviceFromType } from '../device.js';
import { type DTypeInfo, dtypeFromCode } from '../dtype.js';
import { MAX_NDIM } from '../layout.js';
import type { Storage } from '../storage.js';

export const frameBuffer = new ArrayBuffer(2048);
export const f64 = new Float64Array(frameBuffer);
export const u64 = new BigUint64Array(frameBuffer);
export const u32 = new Uint32Array(frameBuffer);
export const i32 = new Int32Array(frameBuffer);

// Indices into the array that a field is used with.
/** u64: a managed tensor, or memory. */
export const ADDRESS = 0;
/** i32: the outcome of the last call. */
export const STATUS = 2;
/** u32: a storage held by this environment. */
export const HANDLE = 3;
/** f64 */
export const NBYTES = 2;
/** f64: bytes to the first element; the number of a pin in calls that take one. */
export const BYTE_OFFSET = 3;
/** u32: {@link DTypeInfo.packed} */
export const DTYPE = 8;
/** i32 */
export const NDIM = 9;
const DEVICE_TYPE = 10;
const DEVICE_ID = 11;
const FLAGS = 12;
/** u32, and the minor version behind it. */
export const VERSION = 13;
const ADDRESSABLE = 15;
/** u64, two of them. */
export const TICKET = 8;
/** f64: the number of the place an export is made at. */
export const TRACE = 10;
/** f64, one for each axis; counts in `readCounts`. */
export const SHAPE = 11;
const STRIDES = SHAPE + MAX_NDIM;

/** Describes a tensor whose storage is held under `handle`. */
export function writeDescriptor(descriptor: Descriptor, handle: number): void {
  const { device, shape, strides } = descriptor;
  const ndim = shape.length;
  u32[HANDLE] = handle;
  f64[BYTE_OFFSET] = descriptor.bitOffset / 8;
  u32[DTYPE] = descriptor.dtype.packed;
  i32[NDIM] = ndim;
  i32[DEVICE_TYPE] = device.type;
  i32[DEVICE_ID] = device.id;
  u32[FLAGS] = descriptor.flags;
  u32[ADDRESSABLE] = device.isAddressable ? 1 : 0;
  f64[TRACE] = 0;
  for (let i = 0; i < ndim; i++) {
    f64[SHAPE + i] = shape[i] as number;
    f64[STRIDES + i] = strides[i] as number;
  }
}

/** The tensor that native code described, over a storage made for its handle. */
export function readDescriptor(storage: Storage): Descriptor {
  const dims = readDims(i32[NDIM] as number);
  return new Descriptor(
    storage,
    readDType(u32[DTYPE] as number),
    readDevice(i32[DEVICE_TYPE] as number, i32[DEVICE_ID] as number),
    dims.shape,
    dims.strides,
    (f64[BYTE_OFFSET] as number) * 8,
    (u32[FLAGS] as number) & KNOWN_FLAGS,
  );
}

// Most tensors have the dtype, and the shape, of one seen just before; looking those up again would double the cost of
// an import.
let lastDType: DTypeInfo = dtypeFromCode(2, 32, 1);

function readDType(packed: number): DTypeInfo {
  if (packed !== lastDType.packed) {
    lastDType = dtypeFromCode(packed & 0xff, (packed >> 8) & 0xff, packed >>> 16);
  }
  return lastDType;
}

function readDevice(type: number, id: number): DeviceInfo {
  return type === cpu.type && id === 0 ? cpu : deviceFromType(type, id);
}

interface Dims {
  readonly shape: readonly number[];
  readonly strides: readonly number[];
}

const seen: Dims[] = new Array<Dims>(64).fill({ shape: [], strides: [] });
let lastDims = seen[0] as Dims;

function readDims(ndim: number): Dims {
  if (matches(lastDims, ndim)) return lastDims;
  let hash = ndim;
  for (let i = 0; i < ndim; i++) hash = (Math.imul(hash, 31) + (f64[SHAPE + i] as number)) | 0;
  const slot = hash & 63;
  if (!matches(seen[slot] as Dims, ndim)) seen[slot] = makeDims(ndim);
  lastDims = seen[slot] as Dims;
  return lastDims;
}

function matches({ shape, strides }: Dims, ndim: number): boolean {
  if (shape.length !== ndim) return false;
  for (let i = 0; i < ndim; i++) {
    if (shape[i] !== f64[SHAPE + i] || strides[i] !== f64[STRIDES + i]) return false;
  }
  return true;
}

function makeDims(ndim: number): Dims {
  const shape: number[] = [];
  const strides: number[] = [];
  for (let i = 0; i < ndim; i++) {
    shape.push(toInteger(f64[SHAPE + i] as number));
    strides.push(toInteger(f64[STRIDES + i] as number));
  }
  return { shape, strides };
}

/** The same number, as a small integer where it is one: engines keep those without a box. */
function toInteger(value: number): number {
  const small = value | 0;
  return small === value ? small : value;
}
