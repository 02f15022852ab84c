// Messages of dlpack/tvm-ffi. Values (TVMFFIAny, two words each) follow a message or begin at a word that it names.
const raised = ['status', 'i32', '0, or -1 when an error is raised on this thread'];
const object = ['object', 'u64', 'the address of an object'];
const reference = ['reference', 'u32', 'the number of a reference in the table of the context; 0: none'];
const values = ['values', 'u32', 'the word of the first value'];
const count = ['count', 'i32', 'the number of values'];
const batch = ['batch', 'u32', 'the reference to a batch of values; 0: none'];
const deviceType = ['deviceType', 'i32', 'the device whose stream is set or read; 0: none'];
const deviceId = ['deviceId', 'i32', 'the number of the device'];
const stream = ['stream', 'u64', 'a stream handle'];

const messages = [
  {
    name: 'CallRequest',
    comment: 'A call. The arguments follow as values, and one more value for the result.',
    fields: [
      ['function', 'u64', 'the address of the function'],
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
      batch,
      ['described', 'u32', 'the word of a described tensor that was refused; 0: none'],
    ],
  },
  {
    name: 'AsyncCallRequest',
    comment: 'A call on another thread.',
    fields: [
      ['function', 'u64', 'the address of the function'],
      stream,
      ['status', 'i32', 'a Status'],
      deviceType,
      deviceId,
      batch,
      ['promise', 'u32', 'the number of the promise that waits'],
    ],
  },
  {
    name: 'CallbackRequest',
    comment:
      'A call of a JavaScript function, pushed by native code. The arguments follow as values, and one for the result.',
    fields: [
      ['array', 'u64', 'the address of an array with the arguments; 0: the arguments follow'],
      ['callback', 'u32', 'the number of the function'],
      raised,
      count,
    ],
  },
  {
    name: 'SettleRequest',
    comment: 'The outcome of an asynchronous call, pushed by native code. The result follows as a value.',
    fields: [
      ['error', 'u64', 'the address of the error, which the caller releases; 0: there is a result'],
      ['promise', 'u32', 'the number of the promise'],
    ],
  },
  { name: 'ReferenceRequest', comment: 'A reference to release.', fields: [reference] },
  {
    name: 'ValueRequest',
    comment: 'One value on the wire: taken, made, or its reference counted.',
    fields: [raised, ['value', 'u32', 'the word of the value'], reference],
  },
  {
    name: 'ObjectRequest',
    comment: 'An object: found, made or retained.',
    fields: [object, raised, reference, ['type', 'i32', 'the number of its class']],
  },
  {
    name: 'TensorObjectRequest',
    comment: 'The object of a tensor.',
    fields: [
      object,
      ['view', 'u64', 'the DLTensor inside it'],
      ['status', 'i32', 'a Status'],
      reference,
      ['tensor', 'tensor', 'the tensor of the object'],
    ],
  },
  {
    name: 'DescribedTensor',
    comment:
      'A tensor without an object, for one call. For JavaScript memory, native code replaces its shape and strides.',
    fields: [
      ['view', 'u64', 'room for a DLTensor', 6],
      ['address', 'u64', 'where JavaScript memory begins; 0 for native memory'],
      ['nbytes', 'f64', 'the size of JavaScript memory'],
      ['status', 'i32', 'a Status'],
      ['isView', 'u32', '1: the callee gets a DLTensor, and no object'],
      ['tensor', 'tensor', 'the tensor that is described'],
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
    name: 'ErrorRequest',
    comment: 'An error: raised, taken or read.',
    fields: [
      object,
      ['cause', 'u64', 'the address of its cause; 0: none'],
      ['pin', 'f64', 'the number that onRelease gets when native code has released the thrown value'],
      reference,
      ['causeReference', 'u32', 'the number of a reference to the cause'],
      ['thrown', 'u32', 'the number of the value that JavaScript threw; 0: none'],
    ],
  },
  {
    name: 'BatchRequest',
    comment: 'Values for a batch. The number 0 makes a new batch.',
    fields: [raised, batch, values, count],
  },
  {
    name: 'ContainerRequest',
    comment: 'A new container of values, or of the values of a batch.',
    fields: [object, raised, ['type', 'i32', 'its class'], batch, values, count, reference],
  },
  {
    name: 'SequenceRequest',
    comment: 'Elements of an Array, List or Shape. They stay borrowed.',
    fields: [object, ['size', 'f64', 'the number of elements'], ['start', 'u32', 'the first element'], values, count],
  },
  {
    name: 'EntriesRequest',
    comment: 'Entries of a Map or Dict: keys and values alternate. They stay borrowed.',
    fields: [
      object,
      raised,
      ['iterator', 'u32', 'the reference to an iterator; 0: the map is empty'],
      values,
      count,
      ['isLast', 'u32', '1 when these were the last entries'],
    ],
  },
  {
    name: 'TypeRequest',
    comment: 'A registered type: found by its key, read, or registered.',
    fields: [raised, ['type', 'i32', 'its number; -1: no such type']],
  },
  {
    name: 'MethodRequest',
    comment: 'A method or the constructor of a type.',
    fields: [
      object,
      ['type', 'i32', 'the type that declares it'],
      ['index', 'u32', 'its index among the methods of that type'],
      reference,
      raised,
    ],
  },
  {
    name: 'FieldRequest',
    comment: 'A field of an object. Its value follows. It is read by its getter, and set by its type and index.',
    fields: [
      object,
      ['getter', 'u64', 'the function that reads it'],
      raised,
      ['offset', 'u32', 'its offset in the object in bytes'],
      ['type', 'i32', 'the type that declares it'],
      ['index', 'u32', 'its index among the fields of that type'],
      reference,
    ],
  },
  { name: 'StreamRequest', comment: 'The stream of a device.', fields: [stream, raised, deviceType, deviceId] },
  {
    name: 'AllocatorRequest',
    comment: 'The allocator of kernels.',
    fields: [
      ['address', 'u64', 'the address of a C allocator; 0: another kind'],
      ['usesFunction', 'u32', '1: the JavaScript function; 0: the C allocator, or our own'],
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
  messages,
};
