/**
 * Indices into a slot of the wire, each into the array of its type: `u32[slot * 2 + INDEX]` and `i32`, `f64[slot + INDEX]` and
 * `u64`. WORDS is the size of the slot. Enums, because the bundler writes their numbers into the code: V8 inlines up to a limit
 * of bytecode, and names of constants took an export beyond it (5 of 58 ns).
 * Written by "npm run wire" from scripts/wire/messages.mjs; change it there.
 *
 * @module
 */

/** A call. The arguments follow as values, and one more value for the result. */
export const enum CallRequest {
  FUNCTION = 0, // u64: the address of the function
  STREAM = 1, // u64: a stream handle
  STATUS = 4, // i32: 0, or -1 when an error is raised on this thread
  COUNT = 5, // i32: the number of values
  DEVICE_TYPE = 6, // i32: the device whose stream is set or read; 0: none
  DEVICE_ID = 7, // i32: the number of the device
  REFERENCE = 8, // u32: the number of the reference to a result that is an object; 0: an array whose elements were copied
  ARGUMENT = 9, // u32: the argument that the result is, from 1 on; 0: none
  BATCH = 10, // u32: the reference to a batch of values; 0: none
  DESCRIBED = 11, // u32: the word of a described tensor that was refused; 0: none
  WORDS = 6,
}

/** A call on another thread. */
export const enum AsyncCallRequest {
  FUNCTION = 0, // u64: the address of the function
  STREAM = 1, // u64: a stream handle
  STATUS = 4, // i32: a Status
  DEVICE_TYPE = 5, // i32: the device whose stream is set or read; 0: none
  DEVICE_ID = 6, // i32: the number of the device
  BATCH = 7, // u32: the reference to a batch of values; 0: none
  PROMISE = 8, // u32: the number of the promise that waits
  WORDS = 6,
}

/** A call of a JavaScript function, pushed by native code. The arguments follow as values, and one for the result. */
export const enum CallbackRequest {
  ARRAY = 0, // u64: the address of an array with the arguments; 0: the arguments follow
  CALLBACK = 2, // u32: the number of the function
  STATUS = 3, // i32: 0, or -1 when an error is raised on this thread
  COUNT = 4, // i32: the number of values
  WORDS = 4,
}

/** The outcome of an asynchronous call, pushed by native code. The result follows as a value. */
export const enum SettleRequest {
  ERROR = 0, // u64: the address of the error, which the caller releases; 0: there is a result
  PROMISE = 2, // u32: the number of the promise
  WORDS = 2,
}

/** A reference to release. */
export const enum ReferenceRequest {
  REFERENCE = 0, // u32: the number of a reference in the table of the context; 0: none
  WORDS = 2,
}

/** One value on the wire: taken, made, or its reference counted. */
export const enum ValueRequest {
  STATUS = 0, // i32: 0, or -1 when an error is raised on this thread
  VALUE = 1, // u32: the word of the value
  REFERENCE = 2, // u32: the number of a reference in the table of the context; 0: none
  WORDS = 2,
}

/** An object: found, made or retained. */
export const enum ObjectRequest {
  OBJECT = 0, // u64: the address of an object
  STATUS = 2, // i32: 0, or -1 when an error is raised on this thread
  REFERENCE = 3, // u32: the number of a reference in the table of the context; 0: none
  TYPE = 4, // i32: the number of its class
  WORDS = 4,
}

/** The object of a tensor. */
export const enum TensorObjectRequest {
  OBJECT = 0, // u64: the address of an object
  VIEW = 1, // u64: the DLTensor inside it
  STATUS = 4, // i32: a Status
  REFERENCE = 5, // u32: the number of a reference in the table of the context; 0: none
  TENSOR = 3, // word: the tensor of the object
  WORDS = 12,
}

/** A tensor without an object, for one call. For JavaScript memory, native code replaces its shape and strides. */
export const enum DescribedTensor {
  VIEW = 0, // u64[6]: room for a DLTensor
  ADDRESS = 6, // u64: where JavaScript memory begins; 0 for native memory
  NBYTES = 7, // f64: the size of JavaScript memory
  STATUS = 16, // i32: a Status
  IS_VIEW = 17, // u32: 1: the callee gets a DLTensor, and no object
  TENSOR = 9, // word: the tensor that is described
  WORDS = 18,
}

/** A native function or object for a JavaScript value. */
export const enum HostRequest {
  OBJECT = 0, // u64: the address of an object
  PIN = 1, // f64: the number that onRelease gets when native code has released the value
  STATUS = 4, // i32: 0, or -1 when an error is raised on this thread
  REFERENCE = 5, // u32: the number of a reference in the table of the context; 0: none
  NUMBER = 6, // u32: the number of the JavaScript value
  TYPE = 7, // i32: the type of an object of a registered class
  FIELDS = 8, // u32: the number of fields of the type
  ACCESS = 9, // u32: the number of the JavaScript function that reads and sets fields
  WEAK = 10, // u32: the number of the weak reference to an object of a registered class
  WORDS = 6,
}

/** An error: raised, taken or read. */
export const enum ErrorRequest {
  OBJECT = 0, // u64: the address of an object
  CAUSE = 1, // u64: the address of its cause; 0: none
  PIN = 2, // f64: the number that onRelease gets when native code has released the thrown value
  REFERENCE = 6, // u32: the number of a reference in the table of the context; 0: none
  CAUSE_REFERENCE = 7, // u32: the number of a reference to the cause
  THROWN = 8, // u32: the number of the value that JavaScript threw; 0: none
  WORDS = 6,
}

/** Values for a batch. The number 0 makes a new batch. */
export const enum BatchRequest {
  STATUS = 0, // i32: 0, or -1 when an error is raised on this thread
  BATCH = 1, // u32: the reference to a batch of values; 0: none
  VALUES = 2, // u32: the word of the first value
  COUNT = 3, // i32: the number of values
  WORDS = 2,
}

/** A new container of values, or of the values of a batch. */
export const enum ContainerRequest {
  OBJECT = 0, // u64: the address of an object
  STATUS = 2, // i32: 0, or -1 when an error is raised on this thread
  TYPE = 3, // i32: its class
  BATCH = 4, // u32: the reference to a batch of values; 0: none
  VALUES = 5, // u32: the word of the first value
  COUNT = 6, // i32: the number of values
  REFERENCE = 7, // u32: the number of a reference in the table of the context; 0: none
  WORDS = 4,
}

/** Elements of an Array, List or Shape. They stay borrowed. */
export const enum SequenceRequest {
  OBJECT = 0, // u64: the address of an object
  SIZE = 1, // f64: the number of elements
  START = 4, // u32: the first element
  VALUES = 5, // u32: the word of the first value
  COUNT = 6, // i32: the number of values
  WORDS = 4,
}

/** Entries of a Map or Dict: keys and values alternate. They stay borrowed. */
export const enum EntriesRequest {
  OBJECT = 0, // u64: the address of an object
  STATUS = 2, // i32: 0, or -1 when an error is raised on this thread
  ITERATOR = 3, // u32: the reference to an iterator; 0: the map is empty
  VALUES = 4, // u32: the word of the first value
  COUNT = 5, // i32: the number of values
  IS_LAST = 6, // u32: 1 when these were the last entries
  WORDS = 4,
}

/** A registered type: found by its key, read, or registered. */
export const enum TypeRequest {
  STATUS = 0, // i32: 0, or -1 when an error is raised on this thread
  TYPE = 1, // i32: its number; -1: no such type
  WORDS = 2,
}

/** A method or the constructor of a type. */
export const enum MethodRequest {
  OBJECT = 0, // u64: the address of an object
  TYPE = 2, // i32: the type that declares it
  INDEX = 3, // u32: its index among the methods of that type
  REFERENCE = 4, // u32: the number of a reference in the table of the context; 0: none
  STATUS = 5, // i32: 0, or -1 when an error is raised on this thread
  WORDS = 4,
}

/** A field of an object. Its value follows. It is read by its getter, and set by its type and index. */
export const enum FieldRequest {
  OBJECT = 0, // u64: the address of an object
  GETTER = 1, // u64: the function that reads it
  STATUS = 4, // i32: 0, or -1 when an error is raised on this thread
  OFFSET = 5, // u32: its offset in the object in bytes
  TYPE = 6, // i32: the type that declares it
  INDEX = 7, // u32: its index among the fields of that type
  REFERENCE = 8, // u32: the number of a reference in the table of the context; 0: none
  WORDS = 6,
}

/** The stream of a device. */
export const enum StreamRequest {
  STREAM = 0, // u64: a stream handle
  STATUS = 2, // i32: 0, or -1 when an error is raised on this thread
  DEVICE_TYPE = 3, // i32: the device whose stream is set or read; 0: none
  DEVICE_ID = 4, // i32: the number of the device
  WORDS = 4,
}

/** The allocator of kernels. */
export const enum AllocatorRequest {
  ADDRESS = 0, // u64: the address of a C allocator; 0: another kind
  USES_FUNCTION = 2, // u32: 1: the JavaScript function; 0: the C allocator, or our own
  WORDS = 2,
}

/** A tensor from the allocator of kernels. The result is pushed as a TensorResult. */
export const enum TensorAllocateRequest {
  STATUS = 0, // i32: 0, or -1 when an error is raised on this thread
  PROBLEM = 1, // i32: a Status
  TENSOR = 1, // word: the requested tensor
  WORDS = 10,
}
