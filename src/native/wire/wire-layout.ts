/**
 * Messages on the wire: functions that read and write the fields of the message in a slot. Engines inline functions as
 * short as these.
 * Written by "npm run wire" from scripts/wire/messages.mjs; change it there.
 *
 * @module
 */

import { wire } from './memory.js';

const { f64, i32, u32, u64 } = wire;

/** The first words of the wire. */
export const WireHeader = {
  /** The size of its slot. */
  WORDS: 4,
  /** The slot of the request, written right before the call and read first in it. */
  slot: (): number => u32[0] as number,
  setSlot: (value: number): void => {
    u32[0] = value;
  },
  /** The first free word. */
  top: (): number => u32[1] as number,
  setTop: (value: number): void => {
    u32[1] = value;
  },
  /** The storage that JavaScript releases, perhaps with the detached bit, read first in release and collect. */
  released: (): number => u32[2] as number,
  setReleased: (value: number): void => {
    u32[2] = value;
  },
  /** The storage that outlived its tick, read first in outlive. */
  lasting: (): number => u32[3] as number,
  setLasting: (value: number): void => {
    u32[3] = value;
  },
  /** Arguments of the call from Python that JavaScript has taken over, counted by it. */
  taken: (): number => u32[4] as number,
  setTaken: (value: number): void => {
    u32[4] = value;
  },
};

/** A tensor. Without a number its layout follows: the fields from dtype on, lengths and strides as doubles. */
export const WireTensor = {
  /** The size of its slot. */
  WORDS: 8,
  /** A storage in the table of the instance. */
  handle: (slot: number): number => u32[slot * 2] as number,
  setHandle: (slot: number, value: number): void => {
    u32[slot * 2] = value;
  },
  /** The number of a layout that native code keeps; 0: the layout follows. */
  layout: (slot: number): number => u32[slot * 2 + 1] as number,
  setLayout: (slot: number, value: number): void => {
    u32[slot * 2 + 1] = value;
  },
  /** Bytes from the start of the storage to the first element. */
  byteOffset: (slot: number): number => f64[slot + 1] as number,
  setByteOffset: (slot: number, value: number): void => {
    f64[slot + 1] = value;
  },
  /** Bytes of the storage, written by native code. */
  nbytes: (slot: number): number => f64[slot + 2] as number,
  setNbytes: (slot: number, value: number): void => {
    f64[slot + 2] = value;
  },
  /** The number of the place where an export is made; 0: not recorded. */
  trace: (slot: number): number => f64[slot + 3] as number,
  setTrace: (slot: number, value: number): void => {
    f64[slot + 3] = value;
  },
  /** Code, bits and lanes, packed as in DLDataType. */
  dtype: (slot: number): number => u32[slot * 2 + 8] as number,
  setDtype: (slot: number, value: number): void => {
    u32[slot * 2 + 8] = value;
  },
  /** The number of axes. */
  ndim: (slot: number): number => i32[slot * 2 + 9] as number,
  setNdim: (slot: number, value: number): void => {
    i32[slot * 2 + 9] = value;
  },
  /** DLPACK_FLAG_BITMASK_*. */
  flags: (slot: number): number => u32[slot * 2 + 10] as number,
  setFlags: (slot: number, value: number): void => {
    u32[slot * 2 + 10] = value;
  },
  /** A DLDeviceType. */
  deviceType: (slot: number): number => i32[slot * 2 + 11] as number,
  setDeviceType: (slot: number, value: number): void => {
    i32[slot * 2 + 11] = value;
  },
  /** The number of the device. */
  deviceId: (slot: number): number => i32[slot * 2 + 12] as number,
  setDeviceId: (slot: number, value: number): void => {
    i32[slot * 2 + 12] = value;
  },
  /** Of a managed tensor that was refused; 0: legacy, or no import. */
  versionMajor: (slot: number): number => u32[slot * 2 + 13] as number,
  setVersionMajor: (slot: number, value: number): void => {
    u32[slot * 2 + 13] = value;
  },
  /** The minor version. */
  versionMinor: (slot: number): number => u32[slot * 2 + 14] as number,
  setVersionMinor: (slot: number, value: number): void => {
    u32[slot * 2 + 14] = value;
  },
  /** Where the lengths of the axes begin; the strides in elements follow. */
  shape: (slot: number, i: number): number => f64[slot + 8 + i] as number,
  setShape: (slot: number, i: number, value: number): void => {
    f64[slot + 8 + i] = value;
  },
  /** The word where they begin. */
  shapeAt: (slot: number): number => slot + 8,
};

/** A layout that native code keeps from now on. */
export const LayoutRequest = {
  /** The size of its slot. */
  WORDS: 138,
  /** A Status, written by native code. */
  status: (): number => i32[8] as number,
  setStatus: (value: number): void => {
    i32[8] = value;
  },
  /** Its number, which JavaScript chooses. */
  number: (): number => u32[9] as number,
  setNumber: (value: number): void => {
    u32[9] = value;
  },
  /** The layout, whole; nothing else of the tensor is used. */
  tensorAt: (): number => 5,
  /** Room for the shape and strides of the tensor. */
  dims: (i: number): number => f64[13 + i] as number,
  setDims: (i: number, value: number): void => {
    f64[13 + i] = value;
  },
  /** The word where they begin. */
  dimsAt: (): number => 13,
};

/** A tensor that native code describes, or the tensor of a ticket: the rest of the request is plain arguments. */
export const TensorResult = {
  /** The size of its slot. */
  WORDS: 138,
  /** The slot of the one that native code pushed last, from the first free word. */
  below: (top: number): number => top - 138,
  /** A Status, written by native code. */
  status: (slot: number): number => i32[slot * 2] as number,
  setStatus: (slot: number, value: number): void => {
    i32[slot * 2] = value;
  },
  /** The tensor; if it was refused, its known fields. */
  tensorAt: (slot: number): number => slot + 1,
  /** Room for the shape and strides of the tensor. */
  dims: (slot: number, i: number): number => f64[slot + 9 + i] as number,
  setDims: (slot: number, i: number, value: number): void => {
    f64[slot + 9 + i] = value;
  },
  /** The word where they begin. */
  dimsAt: (slot: number): number => slot + 9,
};

/** An import of the managed tensor at an address. */
export const ImportRequest = {
  /** The size of its slot. */
  WORDS: 138,
  /** A Status, written by native code. */
  status: (slot: number): number => i32[slot * 2] as number,
  setStatus: (slot: number, value: number): void => {
    i32[slot * 2] = value;
  },
  /** Of the managed tensor. */
  address: (slot: number): bigint => u64[slot + 1] as bigint,
  setAddress: (slot: number, value: bigint): void => {
    u64[slot + 1] = value;
  },
  /** The result. */
  tensorAt: (slot: number): number => slot + 2,
  /** Room for the shape and strides of the tensor. */
  dims: (slot: number, i: number): number => f64[slot + 10 + i] as number,
  setDims: (slot: number, i: number, value: number): void => {
    f64[slot + 10 + i] = value;
  },
  /** The word where they begin. */
  dimsAt: (slot: number): number => slot + 10,
};

/** An export of a tensor. */
export const ExportRequest = {
  /** The size of its slot. */
  WORDS: 10,
  /** A Status, written by native code. */
  status: (slot: number): number => i32[slot * 2] as number,
  setStatus: (slot: number, value: number): void => {
    i32[slot * 2] = value;
  },
  /** Of the new managed tensor. */
  address: (slot: number): bigint => u64[slot + 1] as bigint,
  setAddress: (slot: number, value: bigint): void => {
    u64[slot + 1] = value;
  },
  /** The tensor to export. */
  tensorAt: (slot: number): number => slot + 2,
};

/** New host memory. */
export const AllocateRequest = {
  /** The size of its slot. */
  WORDS: 4,
  /** A Status, written by native code. */
  status: (slot: number): number => i32[slot * 2] as number,
  setStatus: (slot: number, value: number): void => {
    i32[slot * 2] = value;
  },
  /** A storage in the table of the instance. */
  handle: (slot: number): number => u32[slot * 2 + 1] as number,
  setHandle: (slot: number, value: number): void => {
    u32[slot * 2 + 1] = value;
  },
  /** The number of bytes. */
  nbytes: (slot: number): number => f64[slot + 1] as number,
  setNbytes: (slot: number, value: number): void => {
    f64[slot + 1] = value;
  },
  /** How many of the last bytes are zero. */
  cleared: (slot: number): number => f64[slot + 2] as number,
  setCleared: (slot: number, value: number): void => {
    f64[slot + 2] = value;
  },
};

/** Bytes for a storage. They follow the message. */
export const StageRequest = {
  /** The size of its slot. */
  WORDS: 4,
  /** The word after it, where values begin. */
  end: (slot: number): number => slot + 4,
  /** A Status, written by native code. */
  status: (slot: number): number => i32[slot * 2] as number,
  setStatus: (slot: number, value: number): void => {
    i32[slot * 2] = value;
  },
  /** The storage; 0: a new one, whose handle native code writes. */
  handle: (slot: number): number => u32[slot * 2 + 1] as number,
  setHandle: (slot: number, value: number): void => {
    u32[slot * 2 + 1] = value;
  },
  /** The size of a new storage. */
  nbytes: (slot: number): number => f64[slot + 1] as number,
  setNbytes: (slot: number, value: number): void => {
    f64[slot + 1] = value;
  },
  /** The offset in the storage. */
  offset: (slot: number): number => f64[slot + 2] as number,
  setOffset: (slot: number, value: number): void => {
    f64[slot + 2] = value;
  },
  /** The number of bytes. */
  count: (slot: number): number => f64[slot + 3] as number,
  setCount: (slot: number, value: number): void => {
    f64[slot + 3] = value;
  },
};

/** New memory with the elements of a tensor, row-major and converted. */
export const CopyRequest = {
  /** The size of its slot. */
  WORDS: 10,
  /** A Status, written by native code. */
  status: (slot: number): number => i32[slot * 2] as number,
  setStatus: (slot: number, value: number): void => {
    i32[slot * 2] = value;
  },
  /** A storage in the table of the instance. */
  handle: (slot: number): number => u32[slot * 2 + 1] as number,
  setHandle: (slot: number, value: number): void => {
    u32[slot * 2 + 1] = value;
  },
  /** The packed dtype that is written. */
  toType: (slot: number): number => u32[slot * 2 + 2] as number,
  setToType: (slot: number, value: number): void => {
    u32[slot * 2 + 2] = value;
  },
  /** The largest number of threads. */
  threads: (slot: number): number => i32[slot * 2 + 3] as number,
  setThreads: (slot: number, value: number): void => {
    i32[slot * 2 + 3] = value;
  },
  /** The tensor that is read; the handle 0 means a typed array. */
  tensorAt: (slot: number): number => slot + 2,
};

/** A pass of src/values/pass.ts, which copies or casts elements. */
export const ConvertRequest = {
  /** The size of its slot. */
  WORDS: 206,
  /** 1 when the pass ran, written by native code. */
  isDone: (slot: number): number => u32[slot * 2] as number,
  setIsDone: (slot: number, value: number): void => {
    u32[slot * 2] = value;
  },
  /** The storage that is read; 0: a typed array. */
  fromHandle: (slot: number): number => u32[slot * 2 + 1] as number,
  setFromHandle: (slot: number, value: number): void => {
    u32[slot * 2 + 1] = value;
  },
  /** The storage that is written; 0: a typed array. */
  toHandle: (slot: number): number => u32[slot * 2 + 2] as number,
  setToHandle: (slot: number, value: number): void => {
    u32[slot * 2 + 2] = value;
  },
  /** The packed dtype that is read. */
  fromType: (slot: number): number => u32[slot * 2 + 3] as number,
  setFromType: (slot: number, value: number): void => {
    u32[slot * 2 + 3] = value;
  },
  /** The packed dtype that is written. */
  toType: (slot: number): number => u32[slot * 2 + 4] as number,
  setToType: (slot: number, value: number): void => {
    u32[slot * 2 + 4] = value;
  },
  /** The number of axes. */
  ndim: (slot: number): number => i32[slot * 2 + 5] as number,
  setNdim: (slot: number, value: number): void => {
    i32[slot * 2 + 5] = value;
  },
  /** The largest number of threads. */
  threads: (slot: number): number => i32[slot * 2 + 6] as number,
  setThreads: (slot: number, value: number): void => {
    i32[slot * 2 + 6] = value;
  },
  /** The axis along which scale and offset change; -1: they are the same everywhere. */
  scaledAxis: (slot: number): number => i32[slot * 2 + 7] as number,
  setScaledAxis: (slot: number, value: number): void => {
    i32[slot * 2 + 7] = value;
  },
  /** 1: the numbers are scaled. */
  isScaled: (slot: number): number => u32[slot * 2 + 8] as number,
  setIsScaled: (slot: number, value: number): void => {
    u32[slot * 2 + 8] = value;
  },
  /** Bits from the start to the first element that is read. */
  fromBit: (slot: number): number => f64[slot + 5] as number,
  setFromBit: (slot: number, value: number): void => {
    f64[slot + 5] = value;
  },
  /** Bits from the start to the first element that is written. */
  toBit: (slot: number): number => f64[slot + 6] as number,
  setToBit: (slot: number, value: number): void => {
    f64[slot + 6] = value;
  },
  /** Lengths of the axes. */
  shape: (slot: number, i: number): number => f64[slot + 7 + i] as number,
  setShape: (slot: number, i: number, value: number): void => {
    f64[slot + 7 + i] = value;
  },
  /** The word where they begin. */
  shapeAt: (slot: number): number => slot + 7,
  /** Bits from one element to the next in the source. */
  fromSteps: (slot: number, i: number): number => f64[slot + 73 + i] as number,
  setFromSteps: (slot: number, i: number, value: number): void => {
    f64[slot + 73 + i] = value;
  },
  /** The word where they begin. */
  fromStepsAt: (slot: number): number => slot + 73,
  /** Bits from one element to the next in the target. */
  toSteps: (slot: number, i: number): number => f64[slot + 139 + i] as number,
  setToSteps: (slot: number, i: number, value: number): void => {
    f64[slot + 139 + i] = value;
  },
  /** The word where they begin. */
  toStepsAt: (slot: number): number => slot + 139,
};
