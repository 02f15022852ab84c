/** Tensors on the wire: the only description of tensors to and from native code. */

import { cpu, type DeviceInfo, deviceFromType } from '../device.js';
import { type DTypeInfo, dtypeFromCode } from '../dtype.js';
import { Descriptor, KNOWN_FLAGS, type SentLayout, UNSENT } from '../storage/descriptor.js';
import { NativeStorage, releaseHandle } from './native-storage.js';
import { wire } from './wire.js';
import { Wire, WireHeader, WireTensor } from './wire-layout.js';

const { f64, u32, i32 } = wire;

/** Describes a tensor whose storage has the handle `handle`, at the word `at`. Each axis takes two words after it. */
export function writeTensor(at: number, descriptor: Descriptor, handle: number, trace: number): void {
  u32[at * 2 + WireTensor.HANDLE] = handle;
  f64[at + WireTensor.BYTE_OFFSET] = descriptor.bitOffset / 8;
  f64[at + WireTensor.TRACE] = trace;
  writeLayout(at, descriptor);
}

function writeLayout(at: number, { dtype, device, shape, strides, flags }: Descriptor): void {
  const ndim = shape.length;
  const half = at * 2;
  u32[half + WireTensor.DTYPE] = dtype.packed;
  i32[half + WireTensor.NDIM] = ndim;
  u32[half + WireTensor.FLAGS] = flags;
  i32[half + WireTensor.DEVICE_TYPE] = device.type;
  i32[half + WireTensor.DEVICE_ID] = device.id;
  const first = at + WireTensor.SHAPE;
  for (let i = 0; i < ndim; i++) {
    f64[first + i] = shape[i] as number;
    f64[first + ndim + i] = strides[i] as number;
  }
}

/**
 * As `writeTensor`, but leaves out a layout that native code keeps (native/instance.h). Native code must read these
 * tensors with ReadInside, in the order in which they were written, before any other request.
 */
export function sendTensor(at: number, descriptor: Descriptor, handle: number, trace: number): void {
  u32[at * 2 + WireTensor.HANDLE] = handle;
  f64[at + WireTensor.BYTE_OFFSET] = descriptor.bitOffset / 8;
  f64[at + WireTensor.TRACE] = trace;
  const { sentLayout } = descriptor;
  const number = sentLayout === null ? UNSENT : sentLayout.number;
  if (u32[WireHeader.CHECKED_LAYOUTS + (number & Wire.LAYOUT_MASK)] === number) {
    i32[at * 2 + WireTensor.NDIM] = -1;
    u32[at * 2 + WireTensor.LAYOUT] = number;
  } else {
    writeLayout(at, descriptor);
    u32[at * 2 + WireTensor.LAYOUT] = sentLayout === null ? 0 : numberLayout(sentLayout);
  }
}

/** Numbers stay small integers on every engine. */
const MAX_NUMBER = 2 ** 30 - 1;

/**
 * Gives a layout its next number. Numbers of place 0 are not used. The layout that native code keeps in the same place
 * counts as dropped at once, because a later tensor of the same request must not refer to it. No number is given twice,
 * because tensors keep their numbers: after the last number, further layouts get 0 and are sent in full each time.
 */
function numberLayout(layout: SentLayout): number {
  const last = u32[WireHeader.LAST_LAYOUT] as number;
  if (last === MAX_NUMBER) return 0;
  const number = last + ((last & Wire.LAYOUT_MASK) === Wire.LAYOUT_MASK ? 2 : 1);
  u32[WireHeader.LAST_LAYOUT] = number;
  layout.number = number;
  u32[WireHeader.CHECKED_LAYOUTS + (number & Wire.LAYOUT_MASK)] = 0;
  return number;
}

/** The tensor that native code described at the word `at`, as a descriptor that owns the reference. */
export function takeTensor(at: number): Descriptor {
  return takeTensorInto(at, makeStorage);
}

function makeStorage(handle: number, nbytes: number): NativeStorage {
  return new NativeStorage(handle, nbytes, false);
}

/**
 * As `takeTensor`, with a storage that `make` constructs from the handle and the size. Everything is read before the storage
 * is made, because debug mode may run a program's code then. One function, because a function for each step took an import
 * beyond the bytecode that V8 inlines, and then V8 called the constructor of the Descriptor. Drops the tensor's reference and
 * throws if its dtype or device is unknown.
 */
export function takeTensorInto(at: number, make: (handle: number, nbytes: number) => NativeStorage): Descriptor {
  const layout = layoutAt(at);
  const bitOffset = toInteger((f64[at + WireTensor.BYTE_OFFSET] as number) * 8);
  const descriptor = new Descriptor(
    make(u32[at * 2 + WireTensor.HANDLE] as number, toInteger(f64[at + WireTensor.NBYTES] as number)),
    layout.dtype,
    layout.device,
    layout.shape,
    layout.strides,
    bitOffset,
    layout.flags,
  );
  descriptor.sentLayout = layout;
  return descriptor;
}

/** The layout of the tensor at the word `at`. Drops the tensor's reference and throws if its dtype or device is unknown. */
export function layoutAt(at: number): Layout {
  const signature = u32[at * 2 + WireTensor.SIGNATURE] as number;
  return signature !== 0 && signature === u32[WireHeader.KNOWN_SIGNATURE]
    ? (knownLayout as Layout)
    : readLayout(at, signature);
}

/** The properties of a tensor except its memory. */
export interface Layout extends SentLayout {
  readonly dtype: DTypeInfo;
  readonly device: DeviceInfo;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly flags: number;
}

// Most imports resemble the import before. Native code numbers their signatures (native/managed_tensor.h). It leaves
// out the layout of the signature that JavaScript names in the header.
let knownLayout: Layout | null = null;

function readLayout(at: number, signature: number): Layout {
  const half = at * 2;
  try {
    const { shape, strides } = readDims(at + WireTensor.SHAPE, i32[half + WireTensor.NDIM] as number);
    const layout = {
      dtype: readDType(u32[half + WireTensor.DTYPE] as number),
      device: readDevice(i32[half + WireTensor.DEVICE_TYPE] as number, i32[half + WireTensor.DEVICE_ID] as number),
      shape,
      strides,
      flags: (u32[half + WireTensor.FLAGS] as number) & KNOWN_FLAGS,
      number: UNSENT,
    };
    if (signature !== 0) {
      u32[WireHeader.KNOWN_SIGNATURE] = signature;
      knownLayout = layout;
    }
    return layout;
  } catch (error) {
    releaseHandle(u32[half + WireTensor.HANDLE] as number);
    throw error;
  }
}

// Most tensors have the dtype and shape of a recent tensor. Looking them up again would double the cost of an import.
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

function readDims(first: number, ndim: number): Dims {
  if (matches(lastDims, first, ndim)) return lastDims;
  let hash = ndim;
  for (let i = 0; i < ndim; i++) hash = (Math.imul(hash, 31) + (f64[first + i] as number)) | 0;
  const index = hash & 63;
  if (!matches(seen[index] as Dims, first, ndim)) seen[index] = makeDims(first, ndim);
  lastDims = seen[index] as Dims;
  return lastDims;
}

function matches({ shape, strides }: Dims, first: number, ndim: number): boolean {
  if (shape.length !== ndim) return false;
  for (let i = 0; i < ndim; i++) {
    if (shape[i] !== f64[first + i] || strides[i] !== f64[first + ndim + i]) return false;
  }
  return true;
}

function makeDims(first: number, ndim: number): Dims {
  const shape: number[] = [];
  const strides: number[] = [];
  for (let i = 0; i < ndim; i++) {
    shape.push(toInteger(f64[first + i] as number));
    strides.push(toInteger(f64[first + ndim + i] as number));
  }
  return { shape, strides };
}

/** The same number, as a small integer if possible, because engines store those without a box. */
export function toInteger(value: number): number {
  const small = value | 0;
  return small === value ? small : value;
}
