// Messages of dlpack/cuda: one for each kind of request. Read messages.mjs first.
const status = ['status', 'i32', 'the CUresult, written by native code'];
const device = ['device', 'i32', 'the number of the device that the request is for'];
const handle = ['handle', 'u32', 'a storage in the table of the instance'];
const stream = ['stream', 'u64', "the driver's handle of a stream"];
const event = ['event', 'u64', "the driver's handle of an event"];
const owner = ['owner', 'u32', 'a stream or an event in the table of those that JavaScript made'];
const ipcHandle = ['ipcHandle', 'u64', "the driver's handle for other processes", 8];
const pin = ['pin', 'f64', 'the number that onRelease gets when the work has finished'];

const memory = (maxNdim) => [
  {
    name: 'DeviceAllocation',
    comment: 'New device memory, or host memory that devices can access, for work on a stream.',
    fields: [
      status,
      device,
      handle,
      ['deviceType', 'i32', 'a DLDeviceType'],
      ['isShareable', 'u32', '1: device memory that other processes can open'],
      ['nbytes', 'f64', 'the number of bytes'],
      stream,
    ],
  },
  {
    name: 'StorageRequest',
    comment: 'A storage and a stream. The stream clears it, may use it from now on, or waits until its data is ready.',
    fields: [status, device, handle, stream, ['cleared', 'f64', 'how many of the last bytes the stream clears']],
  },
  {
    name: 'CopyStep',
    comment: 'A step of a copy (src/cuda/plan-copy.ts). A side without a handle is a typed array.',
    fields: [
      status,
      device,
      ['fromHandle', 'u32', 'the storage that is read; 0: a typed array'],
      ['toHandle', 'u32', 'the storage that is written; 0: a typed array'],
      ['fromType', 'i32', 'the DLDeviceType of the memory that is read'],
      ['toType', 'i32', 'the DLDeviceType of the memory that is written'],
      stream,
      ['fromOffset', 'f64', 'bytes from the start to the first item that is read'],
      ['toOffset', 'f64', 'bytes from the start to the first item that is written'],
      ['itemBytes', 'f64', 'bytes of an item'],
      ['ndim', 'i32', 'the number of axes'],
      ['shape', 'f64', 'lengths of the axes', maxNdim],
      ['fromSteps', 'f64', 'bytes from one item to the next in the source', maxNdim],
      ['toSteps', 'f64', 'bytes from one item to the next in the target', maxNdim],
    ],
  },
  {
    name: 'UploadStep',
    comment: 'An upload (native/cuda/upload.cc). A typed array has its parts.',
    fields: [
      status,
      device,
      ['fromHandle', 'u32', 'the storage that is read, in plain host memory'],
      ['threads', 'i32', 'how many threads may fill blocks'],
      stream,
      ['fromOffset', 'f64', 'bytes from the start of the storage to the first byte that is read'],
      ['nbytes', 'f64', 'how many bytes are read'],
    ],
  },
  {
    name: 'CastStep',
    comment: 'A cast of contiguous elements on a device (native/cuda/cast.cc).',
    fields: [
      status,
      device,
      ['fromHandle', 'u32', 'the storage that is read'],
      ['toHandle', 'u32', 'the storage that is written'],
      stream,
      ['fromOffset', 'f64', 'bytes from the start to the first element that is read'],
      ['toOffset', 'f64', 'bytes from the start to the first element that is written'],
      ['count', 'f64', 'the number of elements'],
      ['fromType', 'u32', 'a CastType'],
      ['toType', 'u32', 'a CastType'],
      ['targetBytes', 'u32', 'bytes of an element that is written'],
      ['shift', 'u32', 'for a float8 target: 23 minus the bits of its mantissa'],
      ['normal', 'u32', 'for a float8 target: its smallest normal number, as float32'],
      ['last', 'u32', 'for a float8 target: the code after its largest number, as float32'],
      ['nan', 'u32', 'for a float8 target: the code of NaN'],
      ['isFnuz', 'u32', 'for a float8 target: 1 when zero has no sign'],
      [
        'limit',
        'u32',
        'for a float8 target: the code after its largest number, at the position of the exponent in float32',
      ],
      ['scale', 'f64', 'for a float8 target and a source of two bytes: the power of two between their exponents'],
      ['table', 'u32', 'for a source of one byte: the result for each code', 256],
    ],
  },
  {
    name: 'AdmitRequest',
    comment: 'A storage over foreign memory, if the memory lies inside one allocation.',
    fields: [
      status,
      handle,
      ['deviceType', 'i32', 'the DLDeviceType of the memory, written by native code; 0: the driver does not know it'],
      ['deviceId', 'i32', 'the number of its device, written by native code'],
      ['isAdmitted', 'u32', '1 on success, written by native code'],
      ['address', 'u64', 'of the first element'],
      ['stream', 'u64', "the producer's stream, which our stream waits for; 0: no wait"],
      ['low', 'f64', 'bytes from the first element to the lowest byte; zero or less'],
      ['high', 'f64', 'bytes from the first element to the end'],
      ['rangeStart', 'u64', 'where the allocation starts, written by native code'],
      ['rangeSize', 'u64', 'the size of the allocation in bytes, written by native code'],
    ],
  },
  {
    name: 'PointerRequest',
    comment: "The driver's attributes of an address. Native code writes all fields except the address.",
    fields: [
      status,
      ['device', 'i32', 'the number of the device'],
      ['memoryType', 'u32', 'a CUmemorytype; 0: the driver does not know the address'],
      ['isManaged', 'u32', '1 for managed memory'],
      ['address', 'u64', 'the address'],
      ['context', 'u64', 'the CUcontext that owns the memory'],
      ['devicePointer', 'u64', 'the address for code on the device'],
      ['hostPointer', 'u64', 'the address for code on the CPU; 0: none'],
      ['rangeStart', 'u64', 'where the allocation starts'],
      ['rangeSize', 'u64', 'the size of the allocation in bytes'],
    ],
  },
];

const ipc = [
  {
    name: 'ShareRequest',
    comment: 'The data with which another process opens the allocation around a storage.',
    fields: [
      status,
      device,
      handle,
      ['isShareable', 'u32', '1 when native code has written the fields below'],
      ['ordinal', 'i32', 'the number of the device of the allocation'],
      ['process', 'u64', 'the process that allocated it'],
      ['size', 'f64', 'the size of the allocation in bytes'],
      ['offset', 'f64', 'bytes from its start to the storage'],
      ipcHandle,
    ],
  },
  {
    name: 'OpenRequest',
    comment: "A storage over a part of another process's memory.",
    fields: [
      status,
      device,
      handle,
      [
        'outcome',
        'u32',
        '1: success; 0: the memory is too small; 2: the memory belongs to this process. Written by native code',
      ],
      ['process', 'u64', 'the process that allocated it'],
      ['offset', 'f64', 'bytes from the start of the allocation'],
      ['nbytes', 'f64', 'the number of bytes to open'],
      ipcHandle,
    ],
  },
  {
    name: 'ShareEventRequest',
    comment: 'The handle of an event for other processes.',
    fields: [status, device, event, ipcHandle],
  },
  {
    name: 'FollowEventRequest',
    comment: "Makes a stream wait for another process's event before it uses a storage.",
    fields: [status, device, handle, stream, ipcHandle],
  },
];

const streams = [
  {
    name: 'CreateStreamRequest',
    comment: 'A new stream.',
    fields: [
      status,
      device,
      ['isNonBlocking', 'u32', '1: not ordered with the legacy default stream'],
      ['priority', 'i32', 'lower numbers run first'],
      owner,
      stream,
    ],
  },
  {
    name: 'CreateEventRequest',
    comment: 'A new event.',
    fields: [status, device, ['flags', 'u32', 'CU_EVENT_*'], owner, event],
  },
  {
    name: 'CurrentRequest',
    comment: 'Sets the current stream of a device on this thread.',
    fields: [status, device, stream, ['before', 'u64', 'the previous current stream, written by native code']],
  },
  {
    name: 'CaptureRequest',
    comment: 'Whether a stream is being captured into a graph.',
    fields: [status, device, ['isCapturing', 'u32', '1 when it is, written by native code'], stream],
  },
  {
    name: 'MarkRequest',
    comment: 'A stream or an event to wait for or to query, or both: one is recorded on, or waits for, the other.',
    fields: [status, device, stream, event],
  },
  {
    name: 'OrderRequest',
    comment: 'Makes a stream wait for the work that another stream has now.',
    fields: [
      status,
      device,
      ['awaitedDevice', 'i32', 'the number of the device of the other stream'],
      stream,
      ['awaited', 'u64', "the driver's handle of the other stream"],
    ],
  },
  {
    name: 'ElapsedRequest',
    comment: 'The time between two events.',
    fields: [
      status,
      device,
      ['since', 'u64', "the driver's handle of the earlier event"],
      event,
      ['milliseconds', 'f64', 'written by native code'],
    ],
  },
  {
    name: 'WatchRequest',
    comment: 'Calls JavaScript when the work that an event marks, or that a stream has now, is over.',
    fields: [
      status,
      device,
      pin,
      ['owner', 'u32', 'the event in the table of those that JavaScript made; 0: the stream'],
      stream,
    ],
  },
];

const devices = [
  { name: 'DeviceRequest', comment: 'A device to wait for, to query, or to trim.', fields: [status, device] },
  {
    name: 'MemoryInfo',
    comment: 'The memory of a device.',
    fields: [status, device, ['free', 'f64', 'free bytes'], ['total', 'f64', 'all bytes']],
  },
  {
    name: 'DeviceDescription',
    comment: "The driver's description of a device.",
    fields: [
      status,
      device,
      ['totalMemory', 'f64', 'bytes'],
      ['computeMajor', 'i32', 'the major version of its compute capability'],
      ['computeMinor', 'i32', 'the minor version'],
      ['multiprocessors', 'i32', 'the number of multiprocessors'],
      ['hasManagedMemory', 'i32', '1: managed memory works'],
      ['hasConcurrentManagedAccess', 'i32', '1: the CPU may access managed memory while the device uses it'],
      ['hasMemoryPool', 'i32', '1: allocation is ordered with a stream'],
      ['uuid', 'u64', 'its 16 bytes', 2],
    ],
  },
];

/** All messages of dlpack/cuda. */
export const cuda = (maxNdim) => ({
  typescript: 'src/cuda/wire-layout.ts',
  header: 'native/cuda/wire_layout.h',
  namespace: 'dlpack::cuda',
  messages: [...memory(maxNdim), ...ipc, ...streams, ...devices],
});
