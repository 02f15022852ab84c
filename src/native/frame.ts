/**
 * The exchange frame: one block of memory that JavaScript and C++ both see. native/frame.h is its twin.
 *
 * Filled and read without a call in between that could run user code, so one frame serves a whole environment. The
 * arrays are used directly: an accessor for each field costs more than the call it is for.
 *
 * @module
 */

import { cpu, type DeviceInfo, deviceFromType } from '../device.js';
import { type DTypeInfo, dtypeFromCode } from '../dtype.js';
import { Descriptor, KNOWN_FLAGS } from '../storage/descriptor.js';
import type { Storage } from '../storage/storage.js';

const buffer = new ArrayBuffer(2048);

/**
 * The block, and arrays over it. To be taken apart into constants of the importing module, like {@link Field}: V8 folds a
 * module's own constants into its optimised code; what a module imports costs a load and a check at each use.
 */
export const frame = {
  buffer,
  f64: new Float64Array(buffer),
  u64: new BigUint64Array(buffer),
  u32: new Uint32Array(buffer),
  i32: new Int32Array(buffer),
} as const;

/** Indices, each into the array that the field is used with. */
export const Field = {
  /** u64: a managed tensor, or memory. */
  ADDRESS: 0,
  /** i32: the outcome of the last call. */
  STATUS: 2,
  /** u32: a storage held by this environment. */
  HANDLE: 3,
  /** f64 */
  NBYTES: 2,
  /** f64: bytes to the first element; the number of a pin in calls that take one. */
  BYTE_OFFSET: 3,
  /** u32: {@link DTypeInfo.packed} */
  DTYPE: 8,
  /** i32 */
  NDIM: 9,
  DEVICE_TYPE: 10,
  DEVICE_ID: 11,
  FLAGS: 12,
  /** u32, and the minor version behind it. */
  VERSION: 13,
  ADDRESSABLE: 15,
  /** u64, two of them. */
  TICKET: 8,
  /** f64: the number of the place an export is made at. */
  TRACE: 10,
  /** f64, one for each axis; counts in `readCounts`. */
  SHAPE: 11,
  STRIDES: 11 + 64,
  /** u32: the number of the {@link Kind} that was described; 0: none. */
  KIND: 278,
  /** u32: the number of the last one that was read here; native code never changes it. */
  KNOWN: 279,
} as const;

const { f64, u64, u32, i32 } = frame;
const {
  ADDRESS,
  HANDLE,
  NBYTES,
  KIND,
  KNOWN,
  BYTE_OFFSET,
  DTYPE,
  NDIM,
  DEVICE_TYPE,
  DEVICE_ID,
  FLAGS,
  ADDRESSABLE,
  TRACE,
  SHAPE,
  STRIDES,
} = Field;

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

/** Everything about a tensor but its memory. */
interface Kind {
  readonly dtype: DTypeInfo;
  readonly device: DeviceInfo;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly flags: number;
}

// Most imports are like the one before. Native code remembers that one, too, under a number, and when the next is the same
// describes it by the number alone.
let lastKind: Kind = {
  dtype: dtypeFromCode(2, 32, 1),
  device: cpu,
  shape: [],
  strides: [],
  flags: 0,
};

/** Asks for the managed tensor at an address. */
export function writeImport(address: bigint): void {
  u64[ADDRESS] = address;
}

/** For calls that describe without a number. */
export function forgetKind(): void {
  u32[KIND] = 0;
}

/** Whether {@link readDescriptor} can be called without {@link readKind} before it. */
export function isKindKnown(): boolean {
  return u32[KIND] === u32[KNOWN] && u32[KIND] !== 0;
}

/** Reads what native code described, but for the memory. Throws for a dtype or a device that is none. */
export function readKind(): void {
  const { shape, strides } = readDims(i32[NDIM] as number);
  lastKind = {
    dtype: readDType(u32[DTYPE] as number),
    device: readDevice(i32[DEVICE_TYPE] as number, i32[DEVICE_ID] as number),
    shape,
    strides,
    flags: (u32[FLAGS] as number) & KNOWN_FLAGS,
  };
  u32[KNOWN] = u32[KIND] as number;
}

/** A tensor of the kind read last, over a storage made for its handle. */
export function readDescriptor(storage: Storage): Descriptor {
  const { dtype, device, shape, strides, flags } = lastKind;
  return new Descriptor(storage, dtype, device, shape, strides, toInteger((f64[BYTE_OFFSET] as number) * 8), flags);
}

/** Bytes of the storage. */
export function readBytes(): number {
  return toInteger(f64[NBYTES] as number);
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
