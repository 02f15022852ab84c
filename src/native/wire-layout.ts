/**
 * Indices into a slot of the wire, each into the array of its type: `u32[slot * 2 + INDEX]` and `i32`, `f64[slot + INDEX]` and
 * `u64`. WORDS is the size of the slot. Enums, because the bundler writes their numbers into the code: V8 inlines up to a limit
 * of bytecode, and names of constants took an export beyond it (5 of 58 ns).
 * Written by "npm run wire" from scripts/wire/messages.mjs; change it there.
 *
 * @module
 */

/** The wire itself. */
export const enum Wire {
  WORDS = 131072, // of eight bytes
  FIRST_SLOT = 8, // where requests begin
  LAYOUT_MASK = 7, // the bits of a layout's number that are its place
}

/** Outcomes of requests. */
export const enum Status {
  ok = 0,
  nullManaged = 1,
  version = 2,
  ndim = 3,
  nullShape = 4,
  negativeShape = 5,
  tooLarge = 6,
  nullData = 7,
  misaligned = 8,
  dtype = 9,
  outOfMemory = 10,
  consumed = 11,
  notExternal = 12,
  noExternalBuffers = 13,
  unknownTicket = 14,
  napi = 15,
}

/** The first words of the wire. */
export const enum WireHeader {
  SLOT = 0, // u32: the slot of the request, written right before the call and read first in it
  TOP = 1, // u32: the first free word
  RELEASED = 2, // u32: the storage that JavaScript releases, read first in release and collect
  LASTING = 3, // u32: the storage that outlived its tick, read first in outlive
  KNOWN_SIGNATURE = 4, // u32: the signature whose layout JavaScript knows, written by JavaScript; 0: none
  CHECKED_LAYOUTS = 5, // u32[8]: numbers of the layouts that native code keeps, written by it; 0: none
  LAST_LAYOUT = 13, // u32: the last number that JavaScript gave to a layout
  PREPARING = 14, // u32: 1: JavaScript writes a request, so numbers that it releases are not used again
  TAKEN = 15, // u32: arguments of the call from Python that JavaScript has taken over, counted by it
  WORDS = 8,
}

/** A tensor. The lengths of its axes follow as doubles, then as many strides in elements. */
export const enum WireTensor {
  HANDLE = 0, // u32: a storage in the table of the instance
  DTYPE = 1, // u32: code, bits and lanes, packed as in DLDataType
  NDIM = 2, // i32: the number of axes; -1: JavaScript left out the layout, see instance.h
  FLAGS = 3, // u32: DLPACK_FLAG_BITMASK_*
  DEVICE_TYPE = 4, // i32: a DLDeviceType
  DEVICE_ID = 5, // i32: the number of the device
  VERSION_MAJOR = 6, // u32: of the managed tensor that was imported; 0: legacy, or no import
  VERSION_MINOR = 7, // u32: the minor version
  SIGNATURE = 8, // u32: equal for imports that differ only in their memory; 0: none, see managed_tensor.h
  LAYOUT = 9, // u32: the number that JavaScript gave the layout; 0: none
  BYTE_OFFSET = 5, // f64: bytes from the start of the storage to the first element
  NBYTES = 6, // f64: bytes of the storage, written by native code
  TRACE = 7, // f64: the number of the place where an export is made; 0: not recorded
  SHAPE = 8, // f64[]: where the lengths of the axes begin; the strides in elements follow
  WORDS = 8,
}

/** A tensor that native code describes: the result of a request that carries nothing else. */
export const enum TensorResult {
  STATUS = 0, // i32: a Status, written by native code
  TENSOR = 1, // word: the tensor; if it was refused, its known fields
  DIMS = 9, // f64[128]: room for the shape and strides of the tensor
  WORDS = 138,
}

/** An import of the managed tensor at an address. */
export const enum ImportRequest {
  STATUS = 0, // i32: a Status, written by native code
  ADDRESS = 1, // u64: of the managed tensor
  TENSOR = 2, // word: the result
  DIMS = 10, // f64[128]: room for the shape and strides of the tensor
  WORDS = 138,
}

/** An export of a tensor. */
export const enum ExportRequest {
  STATUS = 0, // i32: a Status, written by native code
  ADDRESS = 1, // u64: of the new managed tensor
  TENSOR = 2, // word: the tensor to export
  WORDS = 10,
}

/** A call of the deleter of a managed tensor. */
export const enum DeleteRequest {
  STATUS = 0, // i32: a Status, written by native code
  ADDRESS = 1, // u64: of the managed tensor
  WORDS = 2,
}

/** The tensor of a ticket that is issued or redeemed. */
export const enum TicketRequest {
  STATUS = 0, // i32: a Status, written by native code
  TICKET = 1, // u64[2]: the number of the ticket
  TENSOR = 3, // word: the tensor
  DIMS = 11, // f64[128]: room for the shape and strides of the tensor
  WORDS = 140,
}

/** New host memory. */
export const enum AllocateRequest {
  STATUS = 0, // i32: a Status, written by native code
  HANDLE = 1, // u32: a storage in the table of the instance
  NBYTES = 1, // f64: the number of bytes
  CLEARED = 2, // f64: how many of the last bytes are zero
  WORDS = 4,
}

/** The address of a storage. */
export const enum AddressRequest {
  STATUS = 0, // i32: a Status, written by native code
  HANDLE = 1, // u32: a storage in the table of the instance
  ADDRESS = 1, // u64: of its first byte
  WORDS = 2,
}

/** Memory that JavaScript keeps alive until its last reference is dropped; a typed array is an argument. */
export const enum PinRequest {
  STATUS = 0, // i32: a Status, written by native code
  HANDLE = 1, // u32: a storage in the table of the instance
  PIN = 1, // f64: the number that onRelease gets
  ADDRESS = 2, // u64: the address of the memory, if no typed array is given
  NBYTES = 3, // f64: the number of bytes, if no typed array is given
  WORDS = 4,
}

/** An ArrayBuffer over a storage, or a copy between a storage and an ArrayBuffer. */
export const enum BufferRequest {
  STATUS = 0, // i32: a Status, written by native code
  HANDLE = 1, // u32: a storage in the table of the instance
  WORDS = 2,
}

/** An address. */
export const enum AddressResult {
  ADDRESS = 0, // u64: the address
  WORDS = 2,
}

/** Live objects of the process. */
export const enum CountsResult {
  STORAGES = 0, // f64: blocks of memory that this package allocated
  BYTES = 1, // f64: their bytes
  IMPORTS = 2, // f64: imported memory that tensors hold
  EXPORTS = 3, // f64: managed tensors whose deleter was not yet called
  TICKETS = 4, // f64: tickets that were not yet redeemed
  REPORTED = 5, // f64: bytes that this instance reported to the garbage collector
  KEPT = 6, // f64: bytes of released blocks that wait for new tensors
  WORDS = 8,
}

/** Kept blocks to unmap. */
export const enum TrimRequest {
  IS_IDLE = 0, // u32: 1: only if no block was taken or added since the last such request
  IS_WATCHED = 1, // u32: 1 while blocks are left to watch, written by native code
  BYTES = 1, // f64: the number of unmapped bytes, written by native code
  WORDS = 2,
}

/** The number of live exports with a recorded place. */
export const enum TracesResult {
  COUNT = 0, // f64: the number of exports, even if the array is shorter
  WORDS = 2,
}

/** Bytes for a storage. They follow the message. */
export const enum StageRequest {
  STATUS = 0, // i32: a Status, written by native code
  HANDLE = 1, // u32: the storage; 0: a new one, whose handle native code writes
  NBYTES = 1, // f64: the size of a new storage
  OFFSET = 2, // f64: the offset in the storage
  COUNT = 3, // f64: the number of bytes
  WORDS = 4,
}

/** New memory with the elements of a tensor, row-major and converted. */
export const enum CopyRequest {
  STATUS = 0, // i32: a Status, written by native code
  HANDLE = 1, // u32: a storage in the table of the instance
  TO_TYPE = 2, // u32: the packed dtype that is written
  THREADS = 3, // i32: the largest number of threads
  TENSOR = 2, // word: the tensor that is read; the handle 0 means a typed array
  WORDS = 10,
}

/** A pass of src/values/pass.ts, which copies or casts elements. */
export const enum ConvertRequest {
  IS_DONE = 0, // u32: 1 when the pass ran, written by native code
  FROM_HANDLE = 1, // u32: the storage that is read; 0: a typed array
  TO_HANDLE = 2, // u32: the storage that is written; 0: a typed array
  FROM_TYPE = 3, // u32: the packed dtype that is read
  TO_TYPE = 4, // u32: the packed dtype that is written
  NDIM = 5, // i32: the number of axes
  THREADS = 6, // i32: the largest number of threads
  FROM_BIT = 4, // f64: bits from the start to the first element that is read
  TO_BIT = 5, // f64: bits from the start to the first element that is written
  SHAPE = 6, // f64[66]: lengths of the axes
  FROM_STEPS = 72, // f64[66]: bits from one element to the next in the source
  TO_STEPS = 138, // f64[66]: bits from one element to the next in the target
  WORDS = 204,
}
