// The messages of dlpack/python, in the form that messages.mjs explains.

/**
 * The result of a request to Python, besides a tensor. It comes first in its message, so that native code finds it at a
 * fixed position.
 */
const outcome = [
  ['failed', 'u32', '1: there is an exception'],
  ['resultKind', 'u32', 'a ValueKind: of the result, or handle for the exception'],
  ['resultHandle', 'u32', 'of the object that is the result, or of the exception'],
  ['resultNumber', 'f64', 'the result, where it is a number or a boolean'],
];

/** A Python object. */
const object = ['object', 'u32', 'its handle'];

const messages = [
  {
    name: 'Cell',
    isElement: true,
    comment: 'A value for Python, by its kind.',
    fields: [
      ['kind', 'u32', 'a ValueKind'],
      ['handle', 'u32', 'the handle of an object, or the number of a JavaScript function'],
      ['number', 'f64', 'a number; for a tensor or a container, the word of its description; for a function, its pin'],
    ],
  },
  {
    name: 'CellList',
    comment: 'The elements of a container, or alternating keys and values of a dict.',
    fields: [
      ['count', 'u32', 'the number of cells that follow'],
      ['cells', 'f64', 'where the cells begin', 0],
    ],
  },
  { name: 'Outcome', comment: 'The outcome of a request to Python, besides a tensor.', fields: outcome },
  {
    name: 'PerformRequest',
    comment: 'An operation on Python objects.',
    fields: [
      ...outcome,
      ['operation', 'u32', 'an Operation'],
      ['count', 'u32', 'the number of cells that follow'],
      ['keywords', 'u32', 'the number of pairs of cells at the end that are names and values of keyword arguments'],
      ['spilled', 'u32', 'the number of values that do not fit into cells and are arguments of the call'],
      ['tensorSlot', 'u32', 'the slot of a TensorResult, for a result that is a tensor'],
      ['promise', 'u32', 'the number of the promise of an asynchronous call'],
      ['cells', 'f64', 'where the cells begin', 0],
    ],
  },
  {
    name: 'ConversionRequest',
    comment: 'A tensor as an object of a Python class.',
    fields: [
      ...outcome,
      ['target', 'u32', 'the handle of the class, or of a converter'],
      ['mayCopy', 'u32', '0: never copy; 2: the memory is a copy of memory that JavaScript can move'],
      ['tensor', 'tensor', 'in native memory'],
    ],
  },
  {
    name: 'ConsumeRequest',
    isFollowed: true,
    comment: 'The tensor of a Python object.',
    fields: [
      ...outcome,
      object,
      ['copy', 'i32', '1: always; 0: never; -1: only when needed'],
      ['deviceType', 'i32', 'the DLDeviceType that the tensor must have; 0: any'],
      ['deviceId', 'i32', 'the number of that device'],
      ['tensorSlot', 'u32', 'the slot of the TensorResult'],
      ['stream', 'f64', "the consumer's stream; 0: the current one"],
    ],
  },
  {
    name: 'ReleasedList',
    block: 'released',
    comment: 'Handles that the next operation drops at its start. In its own block, because it outlives requests.',
    fields: [
      ['objectCount', 'u32', 'the number of waiting objects'],
      ['storageCount', 'u32', 'the number of waiting storages of Python memory'],
      ['objects', 'u32', 'their handles', 64],
      ['storages', 'u32', 'their handles', 64],
      ['crowded', 'u32', '1: the objects of this tick, or those before, have many bytes'],
    ],
  },
];

const enums = [
  {
    name: 'ValueKind',
    comment: 'The type of the value in a cell.',
    values: [
      ['none', 'None'],
      ['bool', 'number is 0 or 1'],
      ['int', 'number'],
      ['float', 'number'],
      ['string', 'spilled'],
      ['bytes', 'spilled'],
      ['bigInt', 'spilled as digits in base 16'],
      ['handle', 'an object'],
      ['end', 'as a result: there is no next element'],
      ['tensor', 'number is the word of a WireTensor'],
      ['mustCopy', 'as a result: the class needs a copy of the tensor'],
      ['converter', 'as a result: an object, from_dlpack of a library whose objects native code makes itself'],
      ['declined', 'as a result: the function must be called'],
      ['list', 'number is the word of a CellList'],
      ['dict', 'number is the word of a CellList'],
      ['set', 'number is the word of a CellList'],
      ['function', 'a JavaScript value that Python holds; its name is spilled'],
    ],
  },
  {
    name: 'Operation',
    comment: 'The kinds of operations, with their cells.',
    isScoped: true,
    values: [
      ['import', 'a name'],
      ['call', 'a callable and its arguments'],
      ['callTensor', 'the same, and the tensor of the result'],
      ['callAsync', 'as call, on another thread'],
      ['callTensorAsync', 'as callTensor, on another thread'],
      ['callPartsAsync', 'as callAsync, for the function `call` of values.py'],
      ['getAttribute', 'an object and a name'],
      ['setAttribute', 'an object, a name and a value'],
      ['getItem', 'an object and a key'],
      ['setItem', 'an object, a key and a value'],
      ['iterate', 'an object'],
      ['next', 'an iterator'],
      ['text', 'an object'],
      ['name', 'a string, which becomes an interned name, which Python compares by address'],
      ['tuple', 'its elements'],
      ['hold', 'a value, which always becomes an object'],
    ],
  },
];

export const python = {
  typescript: 'src/python/wire-layout.ts',
  header: 'native/python/wire_layout.h',
  namespace: 'dlpack::python',
  enums,
  messages,
};
