// The wire between JavaScript and C++ as data: every message that a slot of the wire can hold, field by field. `npm run
// wire` writes the TypeScript functions and the C++ structs from it. A field has one meaning. It has a name, a type, a
// comment and, if it is an array, a length (0: the array follows the message). A field can have a place in bytes, too.
// Types: u8, u32, i32, f64, i64, u64, `address` of a native object, which JavaScript only passes on, and `tensor`, a WireTensor
// whose shape and strides follow it. A message that is `isForeign` has its C++ struct elsewhere. Values begin after one that
// `isFollowed`, one that `isElement` stands in rows of its kind, and native code may push one that `isPushed` above a request.
// A message with `at` has a place of its own instead of a slot, and one with `block` memory of its own, with that name.

import { cuda } from './cuda.mjs';
import { python } from './python.mjs';
import { tvmFfi } from './tvm-ffi.mjs';

/** The number of 8-byte words in the wire of one instance: 1 MiB, of which the system commits only the pages in use. */
export const wireWords = 131072;
/** The word of the LayoutRequest, after the header. It has a place of its own, so that it disturbs no other request. */
export const layoutSlot = 4;
/** The word where the slots begin, after the LayoutRequest. */
export const firstSlot = 142;
/** The number of layouts that native code keeps, a power of two. */
export const keptLayouts = 1024;
/** Added to the handle of a storage that JavaScript releases after it has detached the ArrayBuffer over the memory. */
export const detachedBit = 2 ** 31;
/** The most axes that a tensor can have. */
export const maxNdim = 64;

/** Outcomes of requests, numbered from 0. src/native/wire/status.ts turns each into a typed error. */
export const statuses = [
  'ok',
  'nullManaged',
  'version',
  'ndim',
  'nullShape',
  'negativeShape',
  'tooLarge',
  'nullData',
  'misaligned',
  'dtype',
  'outOfMemory',
  'consumed',
  'notExternal',
  'noExternalBuffers',
  'unknownTicket',
  'napi',
  'unknownLayout',
];

const status = ['status', 'i32', 'a Status, written by native code'];
const handle = ['handle', 'u32', 'a storage in the table of the instance'];
/** Room for the shape and the strides of a tensor that native code describes. */
const dims = ['dims', 'f64', 'room for the shape and strides of the tensor', 2 * maxNdim];

const core = [
  {
    name: 'WireHeader',
    at: 0,
    comment: 'The first words of the wire.',
    fields: [
      ['slot', 'u32', 'the slot of the request, written right before the call and read first in it'],
      ['top', 'u32', 'the first free word'],
      [
        'released',
        'u32',
        'the storage that JavaScript releases, perhaps with the detached bit, read first in release and collect',
      ],
      ['lasting', 'u32', 'the storage that outlived its tick, read first in outlive'],
      ['taken', 'u32', 'arguments of the call from Python that JavaScript has taken over, counted by it'],
    ],
  },
  {
    name: 'WireTensor',
    comment: 'A tensor. Without a number its layout follows: the fields from dtype on, lengths and strides as doubles.',
    fields: [
      handle,
      ['layout', 'u32', 'the number of a layout that native code keeps; 0: the layout follows'],
      ['byteOffset', 'f64', 'bytes from the start of the storage to the first element'],
      ['nbytes', 'f64', 'bytes of the storage, written by native code'],
      ['trace', 'f64', 'the number of the place where an export is made; 0: not recorded'],
      ['dtype', 'u32', 'code, bits and lanes, packed as in DLDataType'],
      ['ndim', 'i32', 'the number of axes'],
      ['flags', 'u32', 'DLPACK_FLAG_BITMASK_*'],
      ['deviceType', 'i32', 'a DLDeviceType'],
      ['deviceId', 'i32', 'the number of the device'],
      ['versionMajor', 'u32', 'of a managed tensor that was refused; 0: legacy, or no import'],
      ['versionMinor', 'u32', 'the minor version'],
      ['shape', 'f64', 'where the lengths of the axes begin; the strides in elements follow', 0],
    ],
  },
  {
    name: 'LayoutRequest',
    at: layoutSlot,
    comment: 'A layout that native code keeps from now on.',
    fields: [
      status,
      ['number', 'u32', 'its number, which JavaScript chooses'],
      ['tensor', 'tensor', 'the layout, whole; nothing else of the tensor is used'],
      dims,
    ],
  },
  {
    name: 'TensorResult',
    isPushed: true,
    comment:
      'A tensor that native code describes, or the tensor of a ticket: the rest of the request is plain arguments.',
    fields: [status, ['tensor', 'tensor', 'the tensor; if it was refused, its known fields'], dims],
  },
  {
    name: 'ImportRequest',
    comment: 'An import of the managed tensor at an address.',
    fields: [status, ['address', 'u64', 'of the managed tensor'], ['tensor', 'tensor', 'the result'], dims],
  },
  {
    name: 'ExportRequest',
    comment: 'An export of a tensor.',
    fields: [status, ['address', 'u64', 'of the new managed tensor'], ['tensor', 'tensor', 'the tensor to export']],
  },
  {
    name: 'AllocateRequest',
    comment: 'New host memory.',
    fields: [
      status,
      handle,
      ['nbytes', 'f64', 'the number of bytes'],
      ['cleared', 'f64', 'how many of the last bytes are zero'],
    ],
  },
  {
    name: 'StageRequest',
    isFollowed: true,
    comment: 'Bytes for a storage. They follow the message.',
    fields: [
      status,
      ['handle', 'u32', 'the storage; 0: a new one, whose handle native code writes'],
      ['nbytes', 'f64', 'the size of a new storage'],
      ['offset', 'f64', 'the offset in the storage'],
      ['count', 'f64', 'the number of bytes'],
    ],
  },
  {
    name: 'CopyRequest',
    comment: 'New memory with the elements of a tensor, row-major and converted.',
    fields: [
      status,
      handle,
      ['toType', 'u32', 'the packed dtype that is written'],
      ['threads', 'i32', 'the largest number of threads'],
      ['tensor', 'tensor', 'the tensor that is read; the handle 0 means a typed array'],
    ],
  },
  {
    name: 'ConvertRequest',
    comment: 'A pass of src/values/pass.ts, which copies or casts elements.',
    fields: [
      ['isDone', 'u32', '1 when the pass ran, written by native code'],
      ['fromHandle', 'u32', 'the storage that is read; 0: a typed array'],
      ['toHandle', 'u32', 'the storage that is written; 0: a typed array'],
      ['fromType', 'u32', 'the packed dtype that is read'],
      ['toType', 'u32', 'the packed dtype that is written'],
      ['ndim', 'i32', 'the number of axes'],
      ['threads', 'i32', 'the largest number of threads'],
      ['scaledAxis', 'i32', 'the axis along which scale and offset change; -1: they are the same everywhere'],
      ['isScaled', 'u32', '1: the numbers are scaled'],
      ['fromBit', 'f64', 'bits from the start to the first element that is read'],
      ['toBit', 'f64', 'bits from the start to the first element that is written'],
      ['shape', 'f64', 'lengths of the axes', maxNdim + 2],
      ['fromSteps', 'f64', 'bits from one element to the next in the source', maxNdim + 2],
      ['toSteps', 'f64', 'bits from one element to the next in the target', maxNdim + 2],
    ],
  },
];

/** The output files: one group for each folder that uses the wire. */
export const groups = [
  {
    typescript: 'src/native/wire/wire-layout.ts',
    header: 'native/wire/wire_layout.h',
    namespace: 'dlpack',
    messages: core,
  },
  python,
  tvmFfi,
  cuda,
];
