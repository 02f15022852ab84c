/**
 * Indices into a slot of the wire, each into the array of its type: `u32[slot * 2 + INDEX]` and `i32`, `f64[slot + INDEX]` and
 * `u64`. WORDS is the size of the slot. Enums, because the bundler writes their numbers into the code: V8 inlines up to a limit
 * of bytecode, and names of constants took an export beyond it (5 of 58 ns).
 * Written by "npm run wire" from scripts/wire/messages.mjs; change it there.
 *
 * @module
 */

/** New device memory, or host memory that devices can access, for work on a stream. */
export const enum DeviceAllocation {
  STATUS = 0, // i32: the CUresult, written by native code
  DEVICE = 1, // i32: the number of the device that the request is for
  HANDLE = 2, // u32: a storage in the table of the instance
  DEVICE_TYPE = 3, // i32: a DLDeviceType
  IS_SHAREABLE = 4, // u32: 1: device memory that other processes can open
  NBYTES = 3, // f64: the number of bytes
  STREAM = 4, // u64: the driver's handle of a stream
  WORDS = 6,
}

/** A storage and a stream. The stream clears it, may use it from now on, or waits until its data is ready. */
export const enum StorageRequest {
  STATUS = 0, // i32: the CUresult, written by native code
  DEVICE = 1, // i32: the number of the device that the request is for
  HANDLE = 2, // u32: a storage in the table of the instance
  STREAM = 2, // u64: the driver's handle of a stream
  CLEARED = 3, // f64: how many of the last bytes the stream clears
  WORDS = 4,
}

/** A step of a copy (src/cuda/plan-copy.ts). A side without a handle is a typed array. */
export const enum CopyStep {
  STATUS = 0, // i32: the CUresult, written by native code
  DEVICE = 1, // i32: the number of the device that the request is for
  FROM_HANDLE = 2, // u32: the storage that is read; 0: a typed array
  TO_HANDLE = 3, // u32: the storage that is written; 0: a typed array
  FROM_TYPE = 4, // i32: the DLDeviceType of the memory that is read
  TO_TYPE = 5, // i32: the DLDeviceType of the memory that is written
  STREAM = 3, // u64: the driver's handle of a stream
  FROM_OFFSET = 4, // f64: bytes from the start to the first item that is read
  TO_OFFSET = 5, // f64: bytes from the start to the first item that is written
  ITEM_BYTES = 6, // f64: bytes of an item
  NDIM = 14, // i32: the number of axes
  SHAPE = 8, // f64[64]: lengths of the axes
  FROM_STEPS = 72, // f64[64]: bytes from one item to the next in the source
  TO_STEPS = 136, // f64[64]: bytes from one item to the next in the target
  WORDS = 200,
}

/** An upload (native/cuda/upload.cc). A typed array has its parts. */
export const enum UploadStep {
  STATUS = 0, // i32: the CUresult, written by native code
  DEVICE = 1, // i32: the number of the device that the request is for
  FROM_HANDLE = 2, // u32: the storage that is read, in plain host memory
  THREADS = 3, // i32: how many threads may fill blocks
  STREAM = 2, // u64: the driver's handle of a stream
  FROM_OFFSET = 3, // f64: bytes from the start of the storage to the first byte that is read
  NBYTES = 4, // f64: how many bytes are read
  WORDS = 6,
}

/** A cast of contiguous elements on a device (native/cuda/cast.cc). */
export const enum CastStep {
  STATUS = 0, // i32: the CUresult, written by native code
  DEVICE = 1, // i32: the number of the device that the request is for
  FROM_HANDLE = 2, // u32: the storage that is read
  TO_HANDLE = 3, // u32: the storage that is written
  STREAM = 2, // u64: the driver's handle of a stream
  FROM_OFFSET = 3, // f64: bytes from the start to the first element that is read
  TO_OFFSET = 4, // f64: bytes from the start to the first element that is written
  COUNT = 5, // f64: the number of elements
  FROM_TYPE = 12, // u32: a CastType
  TO_TYPE = 13, // u32: a CastType
  TARGET_BYTES = 14, // u32: bytes of an element that is written
  SHIFT = 15, // u32: for a float8 target: 23 minus the bits of its mantissa
  NORMAL = 16, // u32: for a float8 target: its smallest normal number, as float32
  LAST = 17, // u32: for a float8 target: the code after its largest number, as float32
  NAN = 18, // u32: for a float8 target: the code of NaN
  IS_FNUZ = 19, // u32: for a float8 target: 1 when zero has no sign
  LIMIT = 20, // u32: for a float8 target: the code after its largest number, at the position of the exponent in float32
  SCALE = 11, // f64: for a float8 target and a source of two bytes: the power of two between their exponents
  TABLE = 24, // u32[256]: for a source of one byte: the result for each code
  WORDS = 140,
}

/** A storage over foreign memory, if the memory lies inside one allocation. */
export const enum AdmitRequest {
  STATUS = 0, // i32: the CUresult, written by native code
  HANDLE = 1, // u32: a storage in the table of the instance
  DEVICE_TYPE = 2, // i32: the DLDeviceType of the memory, written by native code; 0: the driver does not know it
  DEVICE_ID = 3, // i32: the number of its device, written by native code
  IS_ADMITTED = 4, // u32: 1 on success, written by native code
  ADDRESS = 3, // u64: of the first element
  STREAM = 4, // u64: the producer's stream, which our stream waits for; 0: no wait
  LOW = 5, // f64: bytes from the first element to the lowest byte; zero or less
  HIGH = 6, // f64: bytes from the first element to the end
  RANGE_START = 7, // u64: where the allocation starts, written by native code
  RANGE_SIZE = 8, // u64: the size of the allocation in bytes, written by native code
  WORDS = 10,
}

/** The driver's attributes of an address. Native code writes all fields except the address. */
export const enum PointerRequest {
  STATUS = 0, // i32: the CUresult, written by native code
  DEVICE = 1, // i32: the number of the device
  MEMORY_TYPE = 2, // u32: a CUmemorytype; 0: the driver does not know the address
  IS_MANAGED = 3, // u32: 1 for managed memory
  ADDRESS = 2, // u64: the address
  CONTEXT = 3, // u64: the CUcontext that owns the memory
  DEVICE_POINTER = 4, // u64: the address for code on the device
  HOST_POINTER = 5, // u64: the address for code on the CPU; 0: none
  RANGE_START = 6, // u64: where the allocation starts
  RANGE_SIZE = 7, // u64: the size of the allocation in bytes
  WORDS = 8,
}

/** The data with which another process opens the allocation around a storage. */
export const enum ShareRequest {
  STATUS = 0, // i32: the CUresult, written by native code
  DEVICE = 1, // i32: the number of the device that the request is for
  HANDLE = 2, // u32: a storage in the table of the instance
  IS_SHAREABLE = 3, // u32: 1 when native code has written the fields below
  ORDINAL = 4, // i32: the number of the device of the allocation
  PROCESS = 3, // u64: the process that allocated it
  SIZE = 4, // f64: the size of the allocation in bytes
  OFFSET = 5, // f64: bytes from its start to the storage
  IPC_HANDLE = 6, // u64[8]: the driver's handle for other processes
  WORDS = 14,
}

/** A storage over a part of another process's memory. */
export const enum OpenRequest {
  STATUS = 0, // i32: the CUresult, written by native code
  DEVICE = 1, // i32: the number of the device that the request is for
  HANDLE = 2, // u32: a storage in the table of the instance
  OUTCOME = 3, // u32: 1: success; 0: the memory is too small; 2: the memory belongs to this process. Written by native code
  PROCESS = 2, // u64: the process that allocated it
  OFFSET = 3, // f64: bytes from the start of the allocation
  NBYTES = 4, // f64: the number of bytes to open
  IPC_HANDLE = 5, // u64[8]: the driver's handle for other processes
  WORDS = 14,
}

/** The handle of an event for other processes. */
export const enum ShareEventRequest {
  STATUS = 0, // i32: the CUresult, written by native code
  DEVICE = 1, // i32: the number of the device that the request is for
  EVENT = 1, // u64: the driver's handle of an event
  IPC_HANDLE = 2, // u64[8]: the driver's handle for other processes
  WORDS = 10,
}

/** Makes a stream wait for another process's event before it uses a storage. */
export const enum FollowEventRequest {
  STATUS = 0, // i32: the CUresult, written by native code
  DEVICE = 1, // i32: the number of the device that the request is for
  HANDLE = 2, // u32: a storage in the table of the instance
  STREAM = 2, // u64: the driver's handle of a stream
  IPC_HANDLE = 3, // u64[8]: the driver's handle for other processes
  WORDS = 12,
}

/** A new stream. */
export const enum CreateStreamRequest {
  STATUS = 0, // i32: the CUresult, written by native code
  DEVICE = 1, // i32: the number of the device that the request is for
  IS_NON_BLOCKING = 2, // u32: 1: not ordered with the legacy default stream
  PRIORITY = 3, // i32: lower numbers run first
  OWNER = 4, // u32: a stream or an event in the table of those that JavaScript made
  STREAM = 3, // u64: the driver's handle of a stream
  WORDS = 4,
}

/** A new event. */
export const enum CreateEventRequest {
  STATUS = 0, // i32: the CUresult, written by native code
  DEVICE = 1, // i32: the number of the device that the request is for
  FLAGS = 2, // u32: CU_EVENT_*
  OWNER = 3, // u32: a stream or an event in the table of those that JavaScript made
  EVENT = 2, // u64: the driver's handle of an event
  WORDS = 4,
}

/** Sets the current stream of a device on this thread. */
export const enum CurrentRequest {
  STATUS = 0, // i32: the CUresult, written by native code
  DEVICE = 1, // i32: the number of the device that the request is for
  STREAM = 1, // u64: the driver's handle of a stream
  BEFORE = 2, // u64: the previous current stream, written by native code
  WORDS = 4,
}

/** Whether a stream is being captured into a graph. */
export const enum CaptureRequest {
  STATUS = 0, // i32: the CUresult, written by native code
  DEVICE = 1, // i32: the number of the device that the request is for
  IS_CAPTURING = 2, // u32: 1 when it is, written by native code
  STREAM = 2, // u64: the driver's handle of a stream
  WORDS = 4,
}

/** A stream or an event to wait for or to query, or both: one is recorded on, or waits for, the other. */
export const enum MarkRequest {
  STATUS = 0, // i32: the CUresult, written by native code
  DEVICE = 1, // i32: the number of the device that the request is for
  STREAM = 1, // u64: the driver's handle of a stream
  EVENT = 2, // u64: the driver's handle of an event
  WORDS = 4,
}

/** Makes a stream wait for the work that another stream has now. */
export const enum OrderRequest {
  STATUS = 0, // i32: the CUresult, written by native code
  DEVICE = 1, // i32: the number of the device that the request is for
  AWAITED_DEVICE = 2, // i32: the number of the device of the other stream
  STREAM = 2, // u64: the driver's handle of a stream
  AWAITED = 3, // u64: the driver's handle of the other stream
  WORDS = 4,
}

/** The time between two events. */
export const enum ElapsedRequest {
  STATUS = 0, // i32: the CUresult, written by native code
  DEVICE = 1, // i32: the number of the device that the request is for
  SINCE = 1, // u64: the driver's handle of the earlier event
  EVENT = 2, // u64: the driver's handle of an event
  MILLISECONDS = 3, // f64: written by native code
  WORDS = 4,
}

/** Calls JavaScript when the work that an event marks, or that a stream has now, is over. */
export const enum WatchRequest {
  STATUS = 0, // i32: the CUresult, written by native code
  DEVICE = 1, // i32: the number of the device that the request is for
  PIN = 1, // f64: the number that onRelease gets when the work has finished
  OWNER = 4, // u32: the event in the table of those that JavaScript made; 0: the stream
  STREAM = 3, // u64: the driver's handle of a stream
  WORDS = 4,
}

/** A device to wait for, to query, or to trim. */
export const enum DeviceRequest {
  STATUS = 0, // i32: the CUresult, written by native code
  DEVICE = 1, // i32: the number of the device that the request is for
  WORDS = 2,
}

/** The memory of a device. */
export const enum MemoryInfo {
  STATUS = 0, // i32: the CUresult, written by native code
  DEVICE = 1, // i32: the number of the device that the request is for
  FREE = 1, // f64: free bytes
  TOTAL = 2, // f64: all bytes
  WORDS = 4,
}

/** The driver's description of a device. */
export const enum DeviceDescription {
  STATUS = 0, // i32: the CUresult, written by native code
  DEVICE = 1, // i32: the number of the device that the request is for
  TOTAL_MEMORY = 1, // f64: bytes
  COMPUTE_MAJOR = 4, // i32: the major version of its compute capability
  COMPUTE_MINOR = 5, // i32: the minor version
  MULTIPROCESSORS = 6, // i32: the number of multiprocessors
  HAS_MANAGED_MEMORY = 7, // i32: 1: managed memory works
  HAS_CONCURRENT_MANAGED_ACCESS = 8, // i32: 1: the CPU may access managed memory while the device uses it
  HAS_MEMORY_POOL = 9, // i32: 1: allocation is ordered with a stream
  UUID = 5, // u64[2]: its 16 bytes
  WORDS = 8,
}
