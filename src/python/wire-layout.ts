/**
 * Indices into a slot of the wire, each into the array of its type: `u32[slot * 2 + INDEX]` and `i32`, `f64[slot + INDEX]` and
 * `u64`. WORDS is the size of the slot. Enums, because the bundler writes their numbers into the code: V8 inlines up to a limit
 * of bytecode, and names of constants took an export beyond it (5 of 58 ns).
 * Written by "npm run wire" from scripts/wire/messages.mjs; change it there.
 *
 * @module
 */

/** What a cell holds. */
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
  mustCopy: 10, // as a result: the class cannot take the tensor as it is
  converter: 11, // as a result: an object, from_dlpack of a library whose objects native code makes itself
  declined: 12, // as a result: the function has to be called
  list: 13, // number is the word of a CellList
  dict: 14, // number is the word of a CellList
  set: 15, // number is the word of a CellList
  function: 16, // a JavaScript value that Python holds; its name is spilled
} as const;

/** What an operation does with its cells. */
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
  name: 11, // a string, which becomes one of the names that Python compares by address
  tuple: 12, // its elements
  hold: 13, // a value, which becomes an object in any case
} as const;

/** A value for Python, by its kind. */
export const enum Cell {
  KIND = 0, // u32: a ValueKind
  HANDLE = 1, // u32: of an object; of a function the number that JavaScript knows it by
  NUMBER = 1, // f64: a number; of a tensor or a container the word where it is described; of a function its pin
  WORDS = 2,
}

/** The elements of a container, or the keys and values of a dict by turns. */
export const enum CellList {
  COUNT = 0, // u32: how many cells follow
  CELLS = 1, // f64[]: where the cells begin
  WORDS = 2,
}

/** What a request to Python leaves besides a tensor. */
export const enum Outcome {
  FAILED = 0, // u32: 1 with an exception
  RESULT_KIND = 1, // u32: a ValueKind: of the result, or handle for the exception
  RESULT_HANDLE = 2, // u32: of the object that is the result, or of the exception
  RESULT_NUMBER = 2, // f64: the result, where it is a number or a boolean
  WORDS = 4,
}

/** An operation on Python objects. */
export const enum PerformRequest {
  FAILED = 0, // u32: 1 with an exception
  RESULT_KIND = 1, // u32: a ValueKind: of the result, or handle for the exception
  RESULT_HANDLE = 2, // u32: of the object that is the result, or of the exception
  RESULT_NUMBER = 2, // f64: the result, where it is a number or a boolean
  OPERATION = 6, // u32: an Operation
  COUNT = 7, // u32: how many cells follow
  KEYWORDS = 8, // u32: how many pairs of cells at the end are names and values of keyword arguments
  SPILLED = 9, // u32: how many values that do not fit into cells are arguments of the call
  TENSOR_SLOT = 10, // u32: the slot of a TensorResult, for a result that is a tensor
  PROMISE = 11, // u32: the number of the promise of an asynchronous call
  CELLS = 6, // f64[]: where the cells begin
  WORDS = 6,
}

/** A tensor as an object of a Python class. */
export const enum ConversionRequest {
  FAILED = 0, // u32: 1 with an exception
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
  FAILED = 0, // u32: 1 with an exception
  RESULT_KIND = 1, // u32: a ValueKind: of the result, or handle for the exception
  RESULT_HANDLE = 2, // u32: of the object that is the result, or of the exception
  RESULT_NUMBER = 2, // f64: the result, where it is a number or a boolean
  OBJECT = 6, // u32: its handle
  COPY = 7, // i32: 1: always; 0: never; -1: only when needed
  DEVICE_TYPE = 8, // i32: the DLDeviceType that the tensor has to be on; 0: any
  DEVICE_ID = 9, // i32: the number of that device
  TENSOR_SLOT = 10, // u32: the slot of the TensorResult
  STREAM = 6, // f64: the consumer's stream; 0: the current one
  WORDS = 8,
}

/** The tensor of a Python object with a CUDA Array Interface. */
export const enum TakeArrayRequest {
  OBJECT = 0, // u32: its handle
  IS_TAKEN = 1, // u32: 1 with a tensor; 0: something about the interface is unusual
  TENSOR_SLOT = 2, // u32: the slot of the TensorResult
  WORDS = 2,
}

/** Handles that the next operation drops on its way. In a block of its own, because it outlives requests. */
export const enum ReleasedList {
  OBJECT_COUNT = 0, // u32: how many objects wait
  STORAGE_COUNT = 1, // u32: how many storages of memory that Python owns wait
  OBJECTS = 2, // u32[64]: their handles
  STORAGES = 66, // u32[64]: their handles
  WORDS = 66,
}
