/**
 * Indices into a slot of the wire, each into the array of its type: `u32[slot * 2 + INDEX]` and `i32`, `f64[slot + INDEX]` and
 * `u64`. WORDS is the size of the slot. Enums, because the bundler writes their numbers into the code: V8 inlines up to a limit
 * of bytecode, and names of constants took an export beyond it (5 of 58 ns).
 * Written by "npm run wire" from scripts/wire/messages.mjs; change it there.
 *
 * @module
 */

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
  callAsync: 3, // the same on another thread
  getAttribute: 4, // an object and a name
  setAttribute: 5, // an object, a name and a value
  getItem: 6, // an object and a key
  setItem: 7, // an object, a key and a value
  iterate: 8, // an object
  next: 9, // an iterator
  text: 10, // an object
  name: 11, // a string, which becomes an interned name, which Python compares by address
  tuple: 12, // its elements
  hold: 13, // a value, which always becomes an object
} as const;

/** A value for Python, by its kind. */
export const enum Cell {
  KIND = 0, // u32: a ValueKind
  HANDLE = 1, // u32: the handle of an object, or the number of a JavaScript function
  NUMBER = 1, // f64: a number; for a tensor or a container, the word of its description; for a function, its pin
  WORDS = 2,
}

/** The elements of a container, or alternating keys and values of a dict. */
export const enum CellList {
  COUNT = 0, // u32: the number of cells that follow
  CELLS = 1, // f64[]: where the cells begin
  WORDS = 2,
}

/** The outcome of a request to Python, besides a tensor. */
export const enum Outcome {
  FAILED = 0, // u32: 1: there is an exception
  RESULT_KIND = 1, // u32: a ValueKind: of the result, or handle for the exception
  RESULT_HANDLE = 2, // u32: of the object that is the result, or of the exception
  RESULT_NUMBER = 2, // f64: the result, where it is a number or a boolean
  WORDS = 4,
}

/** An operation on Python objects. */
export const enum PerformRequest {
  FAILED = 0, // u32: 1: there is an exception
  RESULT_KIND = 1, // u32: a ValueKind: of the result, or handle for the exception
  RESULT_HANDLE = 2, // u32: of the object that is the result, or of the exception
  RESULT_NUMBER = 2, // f64: the result, where it is a number or a boolean
  OPERATION = 6, // u32: an Operation
  COUNT = 7, // u32: the number of cells that follow
  KEYWORDS = 8, // u32: the number of pairs of cells at the end that are names and values of keyword arguments
  SPILLED = 9, // u32: the number of values that do not fit into cells and are arguments of the call
  TENSOR_SLOT = 10, // u32: the slot of a TensorResult, for a result that is a tensor
  PROMISE = 11, // u32: the number of the promise of an asynchronous call
  CELLS = 6, // f64[]: where the cells begin
  WORDS = 6,
}

/** A tensor as an object of a Python class. */
export const enum ConversionRequest {
  FAILED = 0, // u32: 1: there is an exception
  RESULT_KIND = 1, // u32: a ValueKind: of the result, or handle for the exception
  RESULT_HANDLE = 2, // u32: of the object that is the result, or of the exception
  RESULT_NUMBER = 2, // f64: the result, where it is a number or a boolean
  TARGET = 6, // u32: the handle of the class, or of a converter
  MAY_COPY = 7, // u32: 0: never copy
  TENSOR = 4, // word: in native memory
  WORDS = 12,
}

/** The tensor of a Python object. */
export const enum ConsumeRequest {
  FAILED = 0, // u32: 1: there is an exception
  RESULT_KIND = 1, // u32: a ValueKind: of the result, or handle for the exception
  RESULT_HANDLE = 2, // u32: of the object that is the result, or of the exception
  RESULT_NUMBER = 2, // f64: the result, where it is a number or a boolean
  OBJECT = 6, // u32: its handle
  COPY = 7, // i32: 1: always; 0: never; -1: only when needed
  DEVICE_TYPE = 8, // i32: the DLDeviceType that the tensor must have; 0: any
  DEVICE_ID = 9, // i32: the number of that device
  TENSOR_SLOT = 10, // u32: the slot of the TensorResult
  STREAM = 6, // f64: the consumer's stream; 0: the current one
  WORDS = 8,
}

/** The tensor of a Python object with a CUDA Array Interface. */
export const enum TakeArrayRequest {
  OBJECT = 0, // u32: its handle
  IS_TAKEN = 1, // u32: 1: there is a tensor; 0: the interface has an unusual property
  TENSOR_SLOT = 2, // u32: the slot of the TensorResult
  WORDS = 2,
}

/** Handles that the next operation drops at its start. In its own block, because it outlives requests. */
export const enum ReleasedList {
  OBJECT_COUNT = 0, // u32: the number of waiting objects
  STORAGE_COUNT = 1, // u32: the number of waiting storages of Python memory
  OBJECTS = 2, // u32[64]: their handles
  STORAGES = 66, // u32[64]: their handles
  WORDS = 66,
}
