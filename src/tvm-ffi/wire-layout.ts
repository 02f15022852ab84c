/**
 * Messages on the wire: functions that read and write the fields of the message in a slot. Engines inline functions as
 * short as these.
 * Written by "npm run wire" from scripts/wire/messages.mjs; change it there.
 *
 * @module
 */

import { wire } from '../native/wire/memory.js';

const { f64, i32, i64, u32, u64, u8 } = wire;

/** Types that only values on the wire have, whose payload is the word of a TensorArgument. The ABI has none below 0. */
export const WireType = {
  tensor: -1, // a tensor that the callee may keep
  lentTensor: -2, // a tensor that the callee may use only during the call
} as const;

/** How a function is called. */
export const CallMode = {
  plain: 0, // a result that is an Array is read at once
  forView: 1, // a result that is an Array or a Map stays as it is
  locked: 2, // as plain, while no other thread uses the table of global functions
} as const;

/** A value of the ABI (TVMFFIAny): a type, and a payload that has several meanings. */
export const Any = {
  /** The size of its slot. */
  WORDS: 2,
  /** The word of number `i` of those that follow each other from `first` on. */
  at: (first: number, i: number): number => first + i * 2,
  /** A Type of src/tvm-ffi/codec/any.ts, or the number of a class. */
  type: (slot: number): number => i32[slot * 2] as number,
  setType: (slot: number, value: number): void => {
    i32[slot * 2] = value;
  },
  /** Of a small string or small bytes; 0 for other values. */
  length: (slot: number): number => i32[slot * 2 + 1] as number,
  setLength: (slot: number, value: number): void => {
    i32[slot * 2 + 1] = value;
  },
  /** A float, or an address as the double with the same bits. */
  payload: (slot: number): number => f64[slot + 1] as number,
  setPayload: (slot: number, value: number): void => {
    f64[slot + 1] = value;
  },
  /** An integer. */
  integer: (slot: number): bigint => i64[slot + 1] as bigint,
  setInteger: (slot: number, value: bigint): void => {
    i64[slot + 1] = value;
  },
  /** All bits. */
  bits: (slot: number): bigint => u64[slot + 1] as bigint,
  setBits: (slot: number, value: bigint): void => {
    u64[slot + 1] = value;
  },
  /** The low half. */
  low: (slot: number): number => u32[slot * 2 + 2] as number,
  setLow: (slot: number, value: number): void => {
    u32[slot * 2 + 2] = value;
  },
  /** The high half, with a sign. */
  high: (slot: number): number => i32[slot * 2 + 3] as number,
  setHigh: (slot: number, value: number): void => {
    i32[slot * 2 + 3] = value;
  },
  /** The DLDeviceType of a device. */
  deviceType: (slot: number): number => i32[slot * 2 + 2] as number,
  setDeviceType: (slot: number, value: number): void => {
    i32[slot * 2 + 2] = value;
  },
  /** The number of a device. */
  deviceId: (slot: number): number => i32[slot * 2 + 3] as number,
  setDeviceId: (slot: number, value: number): void => {
    i32[slot * 2 + 3] = value;
  },
  /** The bytes of a small string or small bytes. */
  bytes: (slot: number, i: number): number => u8[slot * 8 + 8 + i] as number,
  setBytes: (slot: number, i: number, value: number): void => {
    u8[slot * 8 + 8 + i] = value;
  },
  /** The byte of the wire where they begin. */
  bytesAt: (slot: number): number => slot * 8 + 8,
};

/** A call. The arguments follow as values, and one more value for the result. */
export const CallRequest = {
  /** The size of its slot. */
  WORDS: 8,
  /** The word after it, where values begin. */
  end: (slot: number): number => slot + 8,
  /** The address of the function. */
  function: (slot: number): number => f64[slot] as number,
  setFunction: (slot: number, value: number): void => {
    f64[slot] = value;
  },
  /** A stream handle. */
  stream: (slot: number): bigint => u64[slot + 1] as bigint,
  setStream: (slot: number, value: bigint): void => {
    u64[slot + 1] = value;
  },
  /** 0, or -1 when an error is raised on this thread. */
  status: (slot: number): number => i32[slot * 2 + 4] as number,
  setStatus: (slot: number, value: number): void => {
    i32[slot * 2 + 4] = value;
  },
  /** The number of values. */
  count: (slot: number): number => i32[slot * 2 + 5] as number,
  setCount: (slot: number, value: number): void => {
    i32[slot * 2 + 5] = value;
  },
  /** The device whose stream is set or read; 0: none. */
  deviceType: (slot: number): number => i32[slot * 2 + 6] as number,
  setDeviceType: (slot: number, value: number): void => {
    i32[slot * 2 + 6] = value;
  },
  /** The number of the device. */
  deviceId: (slot: number): number => i32[slot * 2 + 7] as number,
  setDeviceId: (slot: number, value: number): void => {
    i32[slot * 2 + 7] = value;
  },
  /** The number of the reference to a result that is an object; 0: an array whose elements were copied. */
  reference: (slot: number): number => u32[slot * 2 + 8] as number,
  setReference: (slot: number, value: number): void => {
    u32[slot * 2 + 8] = value;
  },
  /** The argument that the result is, from 1 on; 0: none. */
  argument: (slot: number): number => u32[slot * 2 + 9] as number,
  setArgument: (slot: number, value: number): void => {
    u32[slot * 2 + 9] = value;
  },
  /** The number under which the call holds that argument; 0: it has an object that stays. */
  held: (slot: number): number => u32[slot * 2 + 10] as number,
  setHeld: (slot: number, value: number): void => {
    u32[slot * 2 + 10] = value;
  },
  /** The reference to a batch of values; 0: none. */
  batch: (slot: number): number => u32[slot * 2 + 11] as number,
  setBatch: (slot: number, value: number): void => {
    u32[slot * 2 + 11] = value;
  },
  /** A CallMode. */
  mode: (slot: number): number => u32[slot * 2 + 12] as number,
  setMode: (slot: number, value: number): void => {
    u32[slot * 2 + 12] = value;
  },
};

/** A call of a JavaScript function, pushed by native code. The arguments follow as values, and one for the result. */
export const CallbackRequest = {
  /** The size of its slot. */
  WORDS: 4,
  /** The word after it, where values begin. */
  end: (slot: number): number => slot + 4,
  /** The address of an array with the arguments; 0: the arguments follow. */
  array: (slot: number): number => f64[slot] as number,
  setArray: (slot: number, value: number): void => {
    f64[slot] = value;
  },
  /** The number of the function. */
  callback: (slot: number): number => u32[slot * 2 + 2] as number,
  setCallback: (slot: number, value: number): void => {
    u32[slot * 2 + 2] = value;
  },
  /** 0, or -1 when an error is raised on this thread. */
  status: (slot: number): number => i32[slot * 2 + 3] as number,
  setStatus: (slot: number, value: number): void => {
    i32[slot * 2 + 3] = value;
  },
  /** The number of values. */
  count: (slot: number): number => i32[slot * 2 + 4] as number,
  setCount: (slot: number, value: number): void => {
    i32[slot * 2 + 4] = value;
  },
  /** 1: the result has a reference of its own. */
  isOwned: (slot: number): number => u32[slot * 2 + 5] as number,
  setIsOwned: (slot: number, value: number): void => {
    u32[slot * 2 + 5] = value;
  },
};

/** The outcome of an asynchronous call, pushed by native code. The result, or the error, follows as a value. */
export const SettleRequest = {
  /** The size of its slot. */
  WORDS: 2,
  /** The word after it, where values begin. */
  end: (slot: number): number => slot + 2,
  /** 1: the value is an error. */
  isError: (slot: number): number => u32[slot * 2] as number,
  setIsError: (slot: number, value: number): void => {
    u32[slot * 2] = value;
  },
};

/** A value on the wire that is taken. */
export const ValueRequest = {
  /** The size of its slot. */
  WORDS: 2,
  /** 0, or -1 when an error is raised on this thread. */
  status: (slot: number): number => i32[slot * 2] as number,
  setStatus: (slot: number, value: number): void => {
    i32[slot * 2] = value;
  },
  /** The word of the value. */
  value: (slot: number): number => u32[slot * 2 + 1] as number,
  setValue: (slot: number, value: number): void => {
    u32[slot * 2 + 1] = value;
  },
  /** The number of a reference in the table of the context; 0: none. */
  reference: (slot: number): number => u32[slot * 2 + 2] as number,
  setReference: (slot: number, value: number): void => {
    u32[slot * 2 + 2] = value;
  },
};

/** A tensor among the values of a request. The payload of its value is the word of this message, as a double. */
export const TensorArgument = {
  /** The size of its slot. */
  WORDS: 14,
  /** Where memory that JavaScript lends begins, its low half; 0 with the high half: the memory of a storage. */
  addressLow: (slot: number): number => u32[slot * 2] as number,
  setAddressLow: (slot: number, value: number): void => {
    u32[slot * 2] = value;
  },
  /** The high half. */
  addressHigh: (slot: number): number => u32[slot * 2 + 1] as number,
  setAddressHigh: (slot: number, value: number): void => {
    u32[slot * 2 + 1] = value;
  },
  /** The size of lent memory. */
  nbytes: (slot: number): number => f64[slot + 1] as number,
  setNbytes: (slot: number, value: number): void => {
    f64[slot + 1] = value;
  },
  /** The address of an object. */
  object: (slot: number): number => f64[slot + 2] as number,
  setObject: (slot: number, value: number): void => {
    f64[slot + 2] = value;
  },
  /** The address of the DLTensor in the object. */
  view: (slot: number): number => f64[slot + 3] as number,
  setView: (slot: number, value: number): void => {
    f64[slot + 3] = value;
  },
  /** The number of a reference in the table of the context; 0: none. */
  reference: (slot: number): number => u32[slot * 2 + 8] as number,
  setReference: (slot: number, value: number): void => {
    u32[slot * 2 + 8] = value;
  },
  /** The number under which the call holds the tensor. */
  held: (slot: number): number => u32[slot * 2 + 9] as number,
  setHeld: (slot: number, value: number): void => {
    u32[slot * 2 + 9] = value;
  },
  /** 0, or -1 when an error is raised on this thread. */
  status: (slot: number): number => i32[slot * 2 + 10] as number,
  setStatus: (slot: number, value: number): void => {
    i32[slot * 2 + 10] = value;
  },
  /** The tensor. */
  tensorAt: (slot: number): number => slot + 6,
};

/** A native function or object for a JavaScript value. */
export const HostRequest = {
  /** The size of its slot. */
  WORDS: 6,
  /** The address of an object. */
  object: (slot: number): number => f64[slot] as number,
  setObject: (slot: number, value: number): void => {
    f64[slot] = value;
  },
  /** The number that onRelease gets when native code has released the value. */
  pin: (slot: number): number => f64[slot + 1] as number,
  setPin: (slot: number, value: number): void => {
    f64[slot + 1] = value;
  },
  /** 0, or -1 when an error is raised on this thread. */
  status: (slot: number): number => i32[slot * 2 + 4] as number,
  setStatus: (slot: number, value: number): void => {
    i32[slot * 2 + 4] = value;
  },
  /** The number of a reference in the table of the context; 0: none. */
  reference: (slot: number): number => u32[slot * 2 + 5] as number,
  setReference: (slot: number, value: number): void => {
    u32[slot * 2 + 5] = value;
  },
  /** The number of the JavaScript value. */
  number: (slot: number): number => u32[slot * 2 + 6] as number,
  setNumber: (slot: number, value: number): void => {
    u32[slot * 2 + 6] = value;
  },
  /** The type of an object of a registered class. */
  type: (slot: number): number => i32[slot * 2 + 7] as number,
  setType: (slot: number, value: number): void => {
    i32[slot * 2 + 7] = value;
  },
  /** The number of fields of the type. */
  fields: (slot: number): number => u32[slot * 2 + 8] as number,
  setFields: (slot: number, value: number): void => {
    u32[slot * 2 + 8] = value;
  },
  /** The number of the JavaScript function that reads and sets fields. */
  access: (slot: number): number => u32[slot * 2 + 9] as number,
  setAccess: (slot: number, value: number): void => {
    u32[slot * 2 + 9] = value;
  },
  /** The number of the weak reference to an object of a registered class. */
  weak: (slot: number): number => u32[slot * 2 + 10] as number,
  setWeak: (slot: number, value: number): void => {
    u32[slot * 2 + 10] = value;
  },
};

/** A new container of values, or of the values of a batch. */
export const ContainerRequest = {
  /** The size of its slot. */
  WORDS: 4,
  /** The address of an object. */
  object: (slot: number): number => f64[slot] as number,
  setObject: (slot: number, value: number): void => {
    f64[slot] = value;
  },
  /** 0, or -1 when an error is raised on this thread. */
  status: (slot: number): number => i32[slot * 2 + 2] as number,
  setStatus: (slot: number, value: number): void => {
    i32[slot * 2 + 2] = value;
  },
  /** Its class. */
  type: (slot: number): number => i32[slot * 2 + 3] as number,
  setType: (slot: number, value: number): void => {
    i32[slot * 2 + 3] = value;
  },
  /** The reference to a batch of values; 0: none. */
  batch: (slot: number): number => u32[slot * 2 + 4] as number,
  setBatch: (slot: number, value: number): void => {
    u32[slot * 2 + 4] = value;
  },
  /** The word of the first value. */
  values: (slot: number): number => u32[slot * 2 + 5] as number,
  setValues: (slot: number, value: number): void => {
    u32[slot * 2 + 5] = value;
  },
  /** The number of values. */
  count: (slot: number): number => i32[slot * 2 + 6] as number,
  setCount: (slot: number, value: number): void => {
    i32[slot * 2 + 6] = value;
  },
  /** The number of a reference in the table of the context; 0: none. */
  reference: (slot: number): number => u32[slot * 2 + 7] as number,
  setReference: (slot: number, value: number): void => {
    u32[slot * 2 + 7] = value;
  },
};

/** Elements of an Array, List or Shape. They stay borrowed. */
export const SequenceRequest = {
  /** The size of its slot. */
  WORDS: 4,
  /** The word after it, where values begin. */
  end: (slot: number): number => slot + 4,
  /** The address of an object. */
  object: (slot: number): number => f64[slot] as number,
  setObject: (slot: number, value: number): void => {
    f64[slot] = value;
  },
  /** The number of elements. */
  size: (slot: number): number => f64[slot + 1] as number,
  setSize: (slot: number, value: number): void => {
    f64[slot + 1] = value;
  },
  /** The first element. */
  start: (slot: number): number => u32[slot * 2 + 4] as number,
  setStart: (slot: number, value: number): void => {
    u32[slot * 2 + 4] = value;
  },
  /** The word of the first value. */
  values: (slot: number): number => u32[slot * 2 + 5] as number,
  setValues: (slot: number, value: number): void => {
    u32[slot * 2 + 5] = value;
  },
  /** The number of values. */
  count: (slot: number): number => i32[slot * 2 + 6] as number,
  setCount: (slot: number, value: number): void => {
    i32[slot * 2 + 6] = value;
  },
};

/** A field of an object. Its value follows. It is read by its getter, and set by its type and index. */
export const FieldRequest = {
  /** The size of its slot. */
  WORDS: 6,
  /** The word after it, where values begin. */
  end: (slot: number): number => slot + 6,
  /** The address of an object. */
  object: (slot: number): number => f64[slot] as number,
  setObject: (slot: number, value: number): void => {
    f64[slot] = value;
  },
  /** The function that reads it. */
  getter: (slot: number): number => f64[slot + 1] as number,
  setGetter: (slot: number, value: number): void => {
    f64[slot + 1] = value;
  },
  /** 0, or -1 when an error is raised on this thread. */
  status: (slot: number): number => i32[slot * 2 + 4] as number,
  setStatus: (slot: number, value: number): void => {
    i32[slot * 2 + 4] = value;
  },
  /** Its offset in the object in bytes. */
  offset: (slot: number): number => u32[slot * 2 + 5] as number,
  setOffset: (slot: number, value: number): void => {
    u32[slot * 2 + 5] = value;
  },
  /** The type that declares it. */
  type: (slot: number): number => i32[slot * 2 + 6] as number,
  setType: (slot: number, value: number): void => {
    i32[slot * 2 + 6] = value;
  },
  /** Its index among the fields of that type. */
  index: (slot: number): number => u32[slot * 2 + 7] as number,
  setIndex: (slot: number, value: number): void => {
    u32[slot * 2 + 7] = value;
  },
  /** The number of a reference in the table of the context; 0: none. */
  reference: (slot: number): number => u32[slot * 2 + 8] as number,
  setReference: (slot: number, value: number): void => {
    u32[slot * 2 + 8] = value;
  },
};

/** A tensor from the allocator of kernels. The result is pushed as a TensorResult. */
export const TensorAllocateRequest = {
  /** The size of its slot. */
  WORDS: 10,
  /** 0, or -1 when an error is raised on this thread. */
  status: (slot: number): number => i32[slot * 2] as number,
  setStatus: (slot: number, value: number): void => {
    i32[slot * 2] = value;
  },
  /** A Status. */
  problem: (slot: number): number => i32[slot * 2 + 1] as number,
  setProblem: (slot: number, value: number): void => {
    i32[slot * 2 + 1] = value;
  },
  /** The requested tensor. */
  tensorAt: (slot: number): number => slot + 1,
};
