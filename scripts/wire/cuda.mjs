// Messages of dlpack/cuda: one for each kind of request. Read messages.mjs first.
const status = ['status', 'i32', 'the CUresult, written by native code'];
const device = ['device', 'i32', 'the number of the device that the request is for'];
const handle = ['handle', 'u32', 'a storage in the table of the instance'];
const stream = ['stream', 'u64', "the driver's handle of a stream"];
const event = ['event', 'u64', "the driver's handle of an event"];
const owner = ['owner', 'u64', 'of a stream or an event that JavaScript made'];
const ipcHandle = ['ipcHandle', 'u64', "the driver's handle for other processes", 8];
const pin = ['pin', 'f64', 'the number that onRelease gets when the work is done'];

const memory = (maxNdim) => [
  {
    name: 'DeviceAllocation',
    comment: 'New memory of a device, or of the host where devices reach it, for work on a stream.',
    fields: [status, device, handle, ['deviceType', 'i32', 'a DLDeviceType'], ['nbytes', 'f64', 'how much'], stream],
  },
  {
    name: 'ShareableAllocation',
    comment: 'New memory of a device that other processes can open.',
    fields: [status, device, handle, ['nbytes', 'f64', 'how much']],
  },
  {
    name: 'StorageRequest',
    comment: 'A storage, and a stream that clears it, that may use it from now on, or that its data is ready for.',
    fields: [status, device, handle, stream],
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
      ['ndim', 'i32', 'how many axes the step has'],
      ['shape', 'f64', 'lengths of the axes', maxNdim],
      ['fromSteps', 'f64', 'bytes from an item to the next, where it is read', maxNdim],
      ['toSteps', 'f64', 'bytes from an item to the next, where it is written', maxNdim],
    ],
  },
  {
    name: 'CastStep',
    comment: 'A cast of contiguous elements on a device (native/cuda/cast.h).',
    fields: [
      status,
      device,
      ['fromHandle', 'u32', 'the storage that is read'],
      ['toHandle', 'u32', 'the storage that is written'],
      stream,
      ['fromOffset', 'f64', 'bytes from the start to the first element that is read'],
      ['toOffset', 'f64', 'bytes from the start to the first element that is written'],
      ['count', 'f64', 'how many elements'],
      ['fromType', 'u32', 'a CastType'],
      ['toType', 'u32', 'a CastType'],
      ['targetBytes', 'u32', 'bytes of an element that is written'],
      ['shift', 'u32', 'of a float8 target: 23 minus the bits of its mantissa'],
      ['normal', 'u32', 'of a float8 target: its smallest normal number, as float32'],
      ['last', 'u32', 'of a float8 target: the code after its largest number, as float32'],
      ['nan', 'u32', 'of a float8 target: the code of NaN'],
      ['isFnuz', 'u32', 'of a float8 target: 1 when zero has no sign'],
      ['limit', 'u32', 'of a float8 target: the code after its largest number, where float32 has its exponent'],
      ['scale', 'f64', 'of a float8 target, for sources of two bytes: the power of two between their exponents'],
      ['table', 'u32', 'for a source of one byte: the result for each code', 256],
    ],
  },
  {
    name: 'AdmitRequest',
    comment: 'Lays a storage over foreign memory, if all of it lies inside one allocation.',
    fields: [
      status,
      handle,
      ['deviceType', 'i32', 'the DLDeviceType of the memory, written by native code; 0: the driver does not know it'],
      ['deviceId', 'i32', 'the number of its device, written by native code'],
      ['isAdmitted', 'u32', '1 when all was done, written by native code'],
      ['address', 'u64', 'of the first element'],
      ['stream', 'u64', 'the stream of the producer, which ours waits for; 0: no wait'],
      ['low', 'f64', 'bytes from there to the first byte; zero or less'],
      ['high', 'f64', 'bytes from there to the end'],
      ['rangeStart', 'u64', 'where the allocation starts, written by native code'],
      ['rangeSize', 'u64', 'bytes of the allocation, written by native code'],
    ],
  },
  {
    name: 'PointerRequest',
    comment: 'What the driver knows of an address. All but the address is written by native code.',
    fields: [
      status,
      ['memoryType', 'u32', 'a CUmemorytype; 0: the driver does not know the address'],
      ['isManaged', 'u32', '1 for managed memory'],
      ['ordinal', 'i32', 'the number of the device'],
      ['address', 'u64', 'the address'],
      ['context', 'u64', 'the CUcontext that owns the memory'],
      ['devicePointer', 'u64', 'the address for code on the device'],
      ['hostPointer', 'u64', 'the address for code on the processor; 0: it has none'],
      ['rangeStart', 'u64', 'where the allocation starts'],
      ['rangeSize', 'u64', 'bytes of the allocation'],
    ],
  },
];

const ipc = [
  {
    name: 'ShareRequest',
    comment: 'What another process needs to open the allocation around a storage.',
    fields: [
      status,
      device,
      handle,
      ['isShareable', 'u32', '1 when all below was written by native code'],
      ['ordinal', 'i32', 'the number of the device of the allocation'],
      ['process', 'u64', 'the process that allocated it'],
      ['size', 'f64', 'bytes of the allocation'],
      ['offset', 'f64', 'bytes from its start to the storage'],
      ipcHandle,
    ],
  },
  {
    name: 'OpenRequest',
    comment: 'A storage over a part of the memory of another process.',
    fields: [
      status,
      device,
      handle,
      ['outcome', 'u32', '1: done; 0: the memory does not reach so far; 2: it is our own. Written by native code'],
      ['process', 'u64', 'the process that allocated it'],
      ['offset', 'f64', 'bytes from the start of the allocation'],
      ['nbytes', 'f64', 'how much of it'],
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
    comment: 'A stream waits for an event of another process before it uses a storage.',
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
  { name: 'OwnerRequest', comment: 'A stream or an event that JavaScript no longer needs.', fields: [owner] },
  {
    name: 'CurrentRequest',
    comment: 'Sets the current stream of a device on this thread.',
    fields: [device, stream, ['before', 'u64', 'the stream that was the current one, written by native code']],
  },
  { name: 'StreamStateRequest', comment: 'A stream to wait for, or to ask.', fields: [status, device, stream] },
  {
    name: 'CaptureRequest',
    comment: 'Whether a stream is being captured into a graph.',
    fields: [status, device, ['isCapturing', 'u32', '1 when it is, written by native code'], stream],
  },
  { name: 'EventStateRequest', comment: 'An event to wait for, or to ask.', fields: [status, device, event] },
  {
    name: 'MarkRequest',
    comment: 'An event and a stream: the event is recorded there, or the stream waits for it.',
    fields: [status, device, stream, event],
  },
  {
    name: 'OrderRequest',
    comment: 'A stream waits for what another one has now.',
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
    name: 'WatchStreamRequest',
    comment: 'JavaScript is told when what a stream has now is done.',
    fields: [status, device, pin, stream],
  },
  {
    name: 'WatchEventRequest',
    comment: 'JavaScript is told when an event that it made has happened.',
    fields: [status, device, pin, owner],
  },
];

const devices = [
  {
    name: 'CountResult',
    comment: 'How many devices there are.',
    fields: [status, ['count', 'i32', 'how many']],
  },
  { name: 'DeviceRequest', comment: 'A device to wait for, to ask, or to trim.', fields: [status, device] },
  {
    name: 'MemoryInfo',
    comment: 'The memory of a device.',
    fields: [status, device, ['free', 'f64', 'bytes that are free'], ['total', 'f64', 'bytes there are']],
  },
  {
    name: 'DeviceDescription',
    comment: 'What the driver says of a device.',
    fields: [
      status,
      device,
      ['totalMemory', 'f64', 'bytes'],
      ['computeMajor', 'i32', 'the major version of its compute capability'],
      ['computeMinor', 'i32', 'the minor version'],
      ['multiprocessors', 'i32', 'how many'],
      ['hasManagedMemory', 'i32', '1: managed memory works'],
      ['hasConcurrentManagedAccess', 'i32', '1: the processor may touch managed memory while the device does'],
      ['hasMemoryPool', 'i32', '1: allocation is ordered with a stream'],
      ['uuid', 'u64', 'its 16 bytes', 2],
    ],
  },
  { name: 'DriverErrorRequest', comment: 'The name and text of an error.', fields: [['code', 'i32', 'a CUresult']] },
];

/** All messages of dlpack/cuda. */
export const cuda = (maxNdim) => ({
  typescript: 'src/cuda/wire-layout.ts',
  header: 'native/cuda/wire_layout.h',
  namespace: ['dlpack', 'cuda'],
  messages: [...memory(maxNdim), ...ipc, ...streams, ...devices],
});
