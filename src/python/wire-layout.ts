/**
 * Messages on the wire: functions that read and write the fields of the message in a slot. Engines inline functions as
 * short as these.
 * Written by "npm run wire" from scripts/wire/messages.mjs; change it there.
 *
 * @module
 */

import { wire } from '../native/wire/memory.js';

const { f64, i32, u32 } = wire;

/** The type of the value in a cell. */
export const ValueKind = {
  none: 0, // None
  bool: 1, // number is 0 or 1
  int: 2, // number
  float: 3, // number
  string: 4, // spilled
  bytes: 5, // spilled
  bigInt: 6, // spilled as digits in base 16
  handle: 7, // an object
  end: 8, // as a result: there is no next element
  tensor: 9, // number is the word of a WireTensor
  mustCopy: 10, // as a result: the class needs a copy of the tensor
  converter: 11, // as a result: an object, from_dlpack of a library whose objects native code makes itself
  declined: 12, // as a result: the function must be called
  list: 13, // number is the word of a CellList
  dict: 14, // number is the word of a CellList
  set: 15, // number is the word of a CellList
  function: 16, // a JavaScript value that Python holds; its name is spilled
} as const;

/** The kinds of operations, with their cells. */
export const Operation = {
  import: 0, // a name
  call: 1, // a callable and its arguments
  callTensor: 2, // the same, and the tensor of the result
  callAsync: 3, // as call, on another thread
  callTensorAsync: 4, // as callTensor, on another thread
  callPartsAsync: 5, // as callAsync, for the function `call` of values.py
  getAttribute: 6, // an object and a name
  setAttribute: 7, // an object, a name and a value
  getItem: 8, // an object and a key
  setItem: 9, // an object, a key and a value
  iterate: 10, // an object
  next: 11, // an iterator
  text: 12, // an object
  name: 13, // a string, which becomes an interned name, which Python compares by address
  tuple: 14, // its elements
  hold: 15, // a value, which always becomes an object
} as const;

/** A value for Python, by its kind. */
export const Cell = {
  /** The size of its slot. */
  WORDS: 2,
  /** The word of number `i` of those that follow each other from `first` on. */
  at: (first: number, i: number): number => first + i * 2,
  /** A ValueKind. */
  kind: (slot: number): number => u32[slot * 2] as number,
  setKind: (slot: number, value: number): void => {
    u32[slot * 2] = value;
  },
  /** The handle of an object, or the number of a JavaScript function. */
  handle: (slot: number): number => u32[slot * 2 + 1] as number,
  setHandle: (slot: number, value: number): void => {
    u32[slot * 2 + 1] = value;
  },
  /** A number; for a tensor or a container, the word of its description; for a function, its pin. */
  number: (slot: number): number => f64[slot + 1] as number,
  setNumber: (slot: number, value: number): void => {
    f64[slot + 1] = value;
  },
};

/** The elements of a container, or alternating keys and values of a dict. */
export const CellList = {
  /** The size of its slot. */
  WORDS: 2,
  /** The number of cells that follow. */
  count: (slot: number): number => u32[slot * 2] as number,
  setCount: (slot: number, value: number): void => {
    u32[slot * 2] = value;
  },
  /** Where the cells begin. */
  cells: (slot: number, i: number): number => f64[slot + 1 + i] as number,
  setCells: (slot: number, i: number, value: number): void => {
    f64[slot + 1 + i] = value;
  },
  /** The word where they begin. */
  cellsAt: (slot: number): number => slot + 1,
};

/** The outcome of a request to Python, besides a tensor. */
export const Outcome = {
  /** The size of its slot. */
  WORDS: 4,
  /** 1: there is an exception. */
  failed: (slot: number): number => u32[slot * 2] as number,
  setFailed: (slot: number, value: number): void => {
    u32[slot * 2] = value;
  },
  /** A ValueKind: of the result, or handle for the exception. */
  resultKind: (slot: number): number => u32[slot * 2 + 1] as number,
  setResultKind: (slot: number, value: number): void => {
    u32[slot * 2 + 1] = value;
  },
  /** Of the object that is the result, or of the exception. */
  resultHandle: (slot: number): number => u32[slot * 2 + 2] as number,
  setResultHandle: (slot: number, value: number): void => {
    u32[slot * 2 + 2] = value;
  },
  /** The result, where it is a number or a boolean. */
  resultNumber: (slot: number): number => f64[slot + 2] as number,
  setResultNumber: (slot: number, value: number): void => {
    f64[slot + 2] = value;
  },
};

/** An operation on Python objects. */
export const PerformRequest = {
  /** The size of its slot. */
  WORDS: 6,
  /** 1: there is an exception. */
  failed: (slot: number): number => u32[slot * 2] as number,
  setFailed: (slot: number, value: number): void => {
    u32[slot * 2] = value;
  },
  /** A ValueKind: of the result, or handle for the exception. */
  resultKind: (slot: number): number => u32[slot * 2 + 1] as number,
  setResultKind: (slot: number, value: number): void => {
    u32[slot * 2 + 1] = value;
  },
  /** Of the object that is the result, or of the exception. */
  resultHandle: (slot: number): number => u32[slot * 2 + 2] as number,
  setResultHandle: (slot: number, value: number): void => {
    u32[slot * 2 + 2] = value;
  },
  /** The result, where it is a number or a boolean. */
  resultNumber: (slot: number): number => f64[slot + 2] as number,
  setResultNumber: (slot: number, value: number): void => {
    f64[slot + 2] = value;
  },
  /** An Operation. */
  operation: (slot: number): number => u32[slot * 2 + 6] as number,
  setOperation: (slot: number, value: number): void => {
    u32[slot * 2 + 6] = value;
  },
  /** The number of cells that follow. */
  count: (slot: number): number => u32[slot * 2 + 7] as number,
  setCount: (slot: number, value: number): void => {
    u32[slot * 2 + 7] = value;
  },
  /** The number of pairs of cells at the end that are names and values of keyword arguments. */
  keywords: (slot: number): number => u32[slot * 2 + 8] as number,
  setKeywords: (slot: number, value: number): void => {
    u32[slot * 2 + 8] = value;
  },
  /** The number of values that do not fit into cells and are arguments of the call. */
  spilled: (slot: number): number => u32[slot * 2 + 9] as number,
  setSpilled: (slot: number, value: number): void => {
    u32[slot * 2 + 9] = value;
  },
  /** The slot of a TensorResult, for a result that is a tensor. */
  tensorSlot: (slot: number): number => u32[slot * 2 + 10] as number,
  setTensorSlot: (slot: number, value: number): void => {
    u32[slot * 2 + 10] = value;
  },
  /** The number of the promise of an asynchronous call. */
  promise: (slot: number): number => u32[slot * 2 + 11] as number,
  setPromise: (slot: number, value: number): void => {
    u32[slot * 2 + 11] = value;
  },
  /** Where the cells begin. */
  cells: (slot: number, i: number): number => f64[slot + 6 + i] as number,
  setCells: (slot: number, i: number, value: number): void => {
    f64[slot + 6 + i] = value;
  },
  /** The word where they begin. */
  cellsAt: (slot: number): number => slot + 6,
};

/** A tensor as an object of a Python class. */
export const ConversionRequest = {
  /** The size of its slot. */
  WORDS: 12,
  /** 1: there is an exception. */
  failed: (slot: number): number => u32[slot * 2] as number,
  setFailed: (slot: number, value: number): void => {
    u32[slot * 2] = value;
  },
  /** A ValueKind: of the result, or handle for the exception. */
  resultKind: (slot: number): number => u32[slot * 2 + 1] as number,
  setResultKind: (slot: number, value: number): void => {
    u32[slot * 2 + 1] = value;
  },
  /** Of the object that is the result, or of the exception. */
  resultHandle: (slot: number): number => u32[slot * 2 + 2] as number,
  setResultHandle: (slot: number, value: number): void => {
    u32[slot * 2 + 2] = value;
  },
  /** The result, where it is a number or a boolean. */
  resultNumber: (slot: number): number => f64[slot + 2] as number,
  setResultNumber: (slot: number, value: number): void => {
    f64[slot + 2] = value;
  },
  /** The handle of the class, or of a converter. */
  target: (slot: number): number => u32[slot * 2 + 6] as number,
  setTarget: (slot: number, value: number): void => {
    u32[slot * 2 + 6] = value;
  },
  /** 0: never copy; 2: the memory is a copy of memory that JavaScript can move. */
  mayCopy: (slot: number): number => u32[slot * 2 + 7] as number,
  setMayCopy: (slot: number, value: number): void => {
    u32[slot * 2 + 7] = value;
  },
  /** In native memory. */
  tensorAt: (slot: number): number => slot + 4,
};

/** The tensor of a Python object. */
export const ConsumeRequest = {
  /** The size of its slot. */
  WORDS: 8,
  /** The word after it, where values begin. */
  end: (slot: number): number => slot + 8,
  /** 1: there is an exception. */
  failed: (slot: number): number => u32[slot * 2] as number,
  setFailed: (slot: number, value: number): void => {
    u32[slot * 2] = value;
  },
  /** A ValueKind: of the result, or handle for the exception. */
  resultKind: (slot: number): number => u32[slot * 2 + 1] as number,
  setResultKind: (slot: number, value: number): void => {
    u32[slot * 2 + 1] = value;
  },
  /** Of the object that is the result, or of the exception. */
  resultHandle: (slot: number): number => u32[slot * 2 + 2] as number,
  setResultHandle: (slot: number, value: number): void => {
    u32[slot * 2 + 2] = value;
  },
  /** The result, where it is a number or a boolean. */
  resultNumber: (slot: number): number => f64[slot + 2] as number,
  setResultNumber: (slot: number, value: number): void => {
    f64[slot + 2] = value;
  },
  /** Its handle. */
  object: (slot: number): number => u32[slot * 2 + 6] as number,
  setObject: (slot: number, value: number): void => {
    u32[slot * 2 + 6] = value;
  },
  /** 1: always; 0: never; -1: only when needed. */
  copy: (slot: number): number => i32[slot * 2 + 7] as number,
  setCopy: (slot: number, value: number): void => {
    i32[slot * 2 + 7] = value;
  },
  /** The DLDeviceType that the tensor must have; 0: any. */
  deviceType: (slot: number): number => i32[slot * 2 + 8] as number,
  setDeviceType: (slot: number, value: number): void => {
    i32[slot * 2 + 8] = value;
  },
  /** The number of that device. */
  deviceId: (slot: number): number => i32[slot * 2 + 9] as number,
  setDeviceId: (slot: number, value: number): void => {
    i32[slot * 2 + 9] = value;
  },
  /** The slot of the TensorResult. */
  tensorSlot: (slot: number): number => u32[slot * 2 + 10] as number,
  setTensorSlot: (slot: number, value: number): void => {
    u32[slot * 2 + 10] = value;
  },
  /** The consumer's stream; 0: the current one. */
  stream: (slot: number): number => f64[slot + 6] as number,
  setStream: (slot: number, value: number): void => {
    f64[slot + 6] = value;
  },
};

const released = new Uint32Array(132);

/** Handles that the next operation drops at its start. In its own block, because it outlives requests. */
export const ReleasedList = {
  buffer: released.buffer,
  /** The number of waiting objects. */
  objectCount: (): number => released[0] as number,
  setObjectCount: (value: number): void => {
    released[0] = value;
  },
  /** The number of waiting storages of Python memory. */
  storageCount: (): number => released[1] as number,
  setStorageCount: (value: number): void => {
    released[1] = value;
  },
  /** Their handles. */
  objects: (i: number): number => released[2 + i] as number,
  setObjects: (i: number, value: number): void => {
    released[2 + i] = value;
  },
  OBJECTS_LENGTH: 64,
  /** Their handles. */
  storages: (i: number): number => released[66 + i] as number,
  setStorages: (i: number, value: number): void => {
    released[66 + i] = value;
  },
  STORAGES_LENGTH: 64,
  /** 1: the objects of this tick, or those before, have many bytes. */
  crowded: (): number => released[130] as number,
  setCrowded: (value: number): void => {
    released[130] = value;
  },
};
