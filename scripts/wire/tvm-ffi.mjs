// Messages of dlpack/tvm-ffi. Values (TVMFFIAny, two words each) follow a message or begin at a word that it names.
const raised = ['status', 'i32', '0, or -1 when an error is raised on this thread'];
const object = ['object', 'address', 'the address of an object'];
const reference = ['reference', 'u32', 'the number of a reference in the table of the context; 0: none'];
const values = ['values', 'u32', 'the word of the first value'];
const count = ['count', 'i32', 'the number of values'];
const batch = ['batch', 'u32', 'the reference to a batch of values; 0: none'];
const deviceType = ['deviceType', 'i32', 'the device whose stream is set or read; 0: none'];
const deviceId = ['deviceId', 'i32', 'the number of the device'];
const stream = ['stream', 'u64', 'a stream handle'];

const messages = [
  {
    name: 'Any',
    isElement: true,
    isForeign: true,
    comment: 'A value of the ABI (TVMFFIAny): a type, and a payload that has several meanings.',
    fields: [
      ['type', 'i32', 'a Type of src/tvm-ffi/codec/any.ts, or the number of a class'],
      ['length', 'i32', 'of a small string or small bytes; 0 for other values'],
      ['payload', 'f64', 'a float, or an address as the double with the same bits'],
      ['integer', 'i64', 'an integer', 1, 8],
      ['bits', 'u64', 'all bits', 1, 8],
      ['low', 'u32', 'the low half', 1, 8],
      ['high', 'i32', 'the high half, with a sign', 1, 12],
      ['deviceType', 'i32', 'the DLDeviceType of a device', 1, 8],
      ['deviceId', 'i32', 'the number of a device', 1, 12],
      ['bytes', 'u8', 'the bytes of a small string or small bytes', 8, 8],
    ],
  },
  {
    name: 'CallRequest',
    isFollowed: true,
    comment: 'A call. The arguments follow as values, and one more value for the result.',
    fields: [
      ['function', 'address', 'the address of the function'],
      stream,
      raised,
      count,
      deviceType,
      deviceId,
      [
        'reference',
        'u32',
        'the number of the reference to a result that is an object; 0: an array whose elements were copied',
      ],
      ['argument', 'u32', 'the argument that the result is, from 1 on; 0: none'],
      ['held', 'u32', 'the number under which the call holds that argument; 0: it has an object that stays'],
      batch,
      ['mode', 'u32', 'a CallMode'],
    ],
  },
  {
    name: 'CallbackRequest',
    isFollowed: true,
    comment:
      'A call of a JavaScript function, pushed by native code. The arguments follow as values, and one for the result.',
    fields: [
      ['array', 'address', 'the address of an array with the arguments; 0: the arguments follow'],
      ['callback', 'u32', 'the number of the function'],
      raised,
      count,
      ['isOwned', 'u32', '1: the result has a reference of its own'],
    ],
  },
  {
    name: 'SettleRequest',
    isFollowed: true,
    comment:
      'The outcome of an asynchronous call, pushed by native code. The result, or the error, follows as a value.',
    fields: [['isError', 'u32', '1: the value is an error']],
  },
  {
    name: 'ValueRequest',
    comment: 'A value on the wire that is taken.',
    fields: [raised, ['value', 'u32', 'the word of the value'], reference],
  },
  {
    name: 'TensorArgument',
    comment:
      'A tensor among the values of a request. The payload of its value is the word of this message, as a double.',
    fields: [
      [
        'addressLow',
        'u32',
        'where memory that JavaScript lends begins, its low half; 0 with the high half: the memory of a storage',
      ],
      ['addressHigh', 'u32', 'the high half'],
      ['nbytes', 'f64', 'the size of lent memory'],
      object,
      ['view', 'address', 'the address of the DLTensor in the object'],
      reference,
      ['held', 'u32', 'the number under which the call holds the tensor'],
      raised,
      ['tensor', 'tensor', 'the tensor'],
    ],
  },
  {
    name: 'HostRequest',
    comment: 'A native function or object for a JavaScript value.',
    fields: [
      object,
      ['pin', 'f64', 'the number that onRelease gets when native code has released the value'],
      raised,
      reference,
      ['number', 'u32', 'the number of the JavaScript value'],
      ['type', 'i32', 'the type of an object of a registered class'],
      ['fields', 'u32', 'the number of fields of the type'],
      ['access', 'u32', 'the number of the JavaScript function that reads and sets fields'],
      ['weak', 'u32', 'the number of the weak reference to an object of a registered class'],
    ],
  },
  {
    name: 'ContainerRequest',
    comment: 'A new container of values, or of the values of a batch.',
    fields: [object, raised, ['type', 'i32', 'its class'], batch, values, count, reference],
  },
  {
    name: 'SequenceRequest',
    isFollowed: true,
    comment: 'Elements of an Array, List or Shape. They stay borrowed.',
    fields: [object, ['size', 'f64', 'the number of elements'], ['start', 'u32', 'the first element'], values, count],
  },
  {
    name: 'FieldRequest',
    isFollowed: true,
    comment: 'A field of an object. Its value follows. It is read by its getter, and set by its type and index.',
    fields: [
      object,
      ['getter', 'address', 'the function that reads it'],
      raised,
      ['offset', 'u32', 'its offset in the object in bytes'],
      ['type', 'i32', 'the type that declares it'],
      ['index', 'u32', 'its index among the fields of that type'],
      reference,
    ],
  },
  {
    name: 'TensorAllocateRequest',
    comment: 'A tensor from the allocator of kernels. The result is pushed as a TensorResult.',
    fields: [raised, ['problem', 'i32', 'a Status'], ['tensor', 'tensor', 'the requested tensor']],
  },
];

export const tvmFfi = {
  typescript: 'src/tvm-ffi/wire-layout.ts',
  header: 'native/tvm_ffi/wire_layout.h',
  namespace: 'dlpack::tvm_ffi',
  enums: [
    {
      name: 'WireType',
      comment:
        'Types that only values on the wire have, whose payload is the word of a TensorArgument. The ABI has none below 0.',
      values: [
        ['tensor', 'a tensor that the callee may keep', -1],
        ['lentTensor', 'a tensor that the callee may use only during the call', -2],
      ],
    },
    {
      name: 'CallMode',
      comment: 'How a function is called.',
      isScoped: true,
      values: [
        ['plain', 'a result that is an Array is read at once'],
        ['forView', 'a result that is an Array or a Map stays as it is'],
        ['locked', 'as plain, while no other thread uses the table of global functions'],
      ],
    },
  ],
  messages,
};
