import {
  DLPACK,
  type DLPackErrorTag,
  expectTensor,
  formatDevice,
  formatDType,
  fromDLPack,
  parseDevice,
  parseDType,
  sizeBytes,
  Tensor,
} from 'dlpack';
import { DLTensor, layoutOf, lp64, viewTensor } from 'dlpack/abi';
import { toHostMdspan } from 'dlpack/mdspan';
import { equal, throws } from '../assert.js';
import { test } from '../harness.js';

/** Code of a newcomer that the compiler would reject. */
const any = (value: unknown): never => value as never;
const matrix = () => Tensor.from([1, 2, 3, 4, 5, 6], { dtype: 'float32', shape: [2, 3] });
const detached = () => {
  const array = new Float32Array(3);
  structuredClone(array, { transfer: [array.buffer] });
  return array;
};

/** The mistake, the error, and a part of its message: what was expected, what was received, or what to do. */
const mistakes: Record<string, [tag: DLPackErrorTag, says: string, action: () => unknown]> = {
  "Tensor.empty([1], 'torch.float32')": [
    'UnsupportedDTypeError',
    "received 'torch.float32' (string), which is 'float32' here",
    () => Tensor.empty([1], any('torch.float32')),
  ],
  "astype('torch.long')": ['UnsupportedDTypeError', "which is 'int64' here", () => matrix().astype(any('torch.long'))],
  "astype('int')": ['UnsupportedDTypeError', "which is 'int32' here", () => matrix().astype(any('int'))],
  "astype('Float32')": ['UnsupportedDTypeError', "which is 'float32' here", () => matrix().astype(any('Float32'))],
  "to('gpu')": ['UnsupportedDeviceError', "; did you mean 'cuda' or 'webgpu'?", () => matrix().to(any('gpu'))],
  "to('mps')": ['UnsupportedDeviceError', "; did you mean 'metal'?", () => matrix().to(any('mps'))],
  'Tensor.from([x, y])': [
    'TypeError',
    'join tensors with Tensor.stack([x, y])',
    () => Tensor.from(any([matrix(), matrix()])),
  ],
  "astype('u8')": ['UnsupportedDTypeError', "which is 'uint8' here", () => matrix().astype(any('u8'))],
  "astype('bf16')": ['UnsupportedDTypeError', "which is 'bfloat16' here", () => matrix().astype(any('bf16'))],
  "astype('double')": ['UnsupportedDTypeError', "which is 'float64' here", () => matrix().astype(any('double'))],
  "astype('32')": [
    'UnsupportedDTypeError',
    "received '32' (string); names are such as",
    () => matrix().astype(any('32')),
  ],
  "astype('flaot32')": ['UnsupportedDTypeError', "; did you mean 'float32'?", () => matrix().astype(any('flaot32'))],
  "astype('float33')": ['UnsupportedDTypeError', "; did you mean 'float32'?", () => matrix().astype(any('float33'))],
  'from(a tensor of another copy of the package)': [
    'TypeError',
    'take it with fromDLPack() first',
    () => Tensor.from(any({ [DLPACK]: () => ({}) })),
  ],
  'copyFrom(a tensor of another library)': [
    'TypeError',
    'take it with fromDLPack() first',
    () => matrix().copyFrom(any({ [DLPACK]: () => ({}) })),
  ],
  'expectTensor(a tensor of another library)': [
    'SpecError',
    'take it with fromDLPack() first',
    () => expectTensor({ [DLPACK]: () => ({}) }, {}),
  ],
  'astype()': ['TypeError', 'a dtype name such as "float32"', () => matrix().astype(any(undefined))],
  "empty([1], { dtype: 'float32' })": [
    'TypeError',
    'a dtype name such as "float32" for dtype but received an object of Object',
    () => Tensor.empty([1], any({ dtype: 'float32' })),
  ],
  "from([1], 'float32')": [
    'TypeError',
    "an object such as { dtype: 'float32', shape: [2, 3] } for options but received 'float32'",
    () => Tensor.from([1], any('float32')),
  ],
  'from([1], null)': ['TypeError', 'for options but received null', () => Tensor.from([1], any(null))],
  'wrap(array, [2, 3])': [
    'TypeError',
    'an object such as { shape: [2, 3] } for options but received [2, 3]',
    () => Tensor.wrap(new Float32Array(6), any([2, 3])),
  ],
  'adopt(array, [2, 3])': ['TypeError', 'for options', () => Tensor.adopt(new Float32Array(6), any([2, 3]))],
  "empty([1], 'float32', 'cuda:0')": [
    'TypeError',
    "an object such as { device: 'cuda:0' } for options",
    () => Tensor.empty([1], 'float32', any('cuda:0')),
  ],
  "fromDLPack(x, 'cpu')": ['TypeError', '{ copy: true } for options', () => fromDLPack(matrix(), any('cpu'))],
  "fromDLPack(x, { copy: 'yes' })": [
    'TypeError',
    "a boolean or null for copy but received 'yes'",
    () => fromDLPack(matrix(), { copy: any('yes') }),
  ],
  'expectTensor(x)': [
    'TypeError',
    "{ dtype: 'float32', shape: [null, 3] }",
    () => expectTensor(matrix(), any(undefined)),
  ],
  'parseDevice({})': ['TypeError', 'a device such as "cpu" or "cuda:0"', () => parseDevice(any({}))],
  'zeros(2, 3)': ['TypeError', 'an array of integers such as [2, 3] for shape', () => Tensor.zeros(any(2), any(3))],
  'from([1, null])': ['TypeError', 'numbers, bigints, booleans or { re, im }', () => Tensor.from([1, any(null)])],
  'from({})': ['TypeError', 'received an object of Object', () => Tensor.from(any({}))],
  'from(promise)': ['TypeError', 'received an object of Promise', () => Tensor.from(any(Promise.resolve([1])))],
  'from([1, 2n])': [
    'TypeError',
    'values of one type, or a dtype for all of them, for source but received [number, bigint]',
    () => Tensor.from([1, 2n]),
  ],
  'reshape([4])': ['LayoutError', 'a shape of 6 elements but received [4], which has 4', () => matrix().reshape([4])],
  'reshape([-1, 4])': ['LayoutError', '[-1, 4], which no length fits', () => matrix().reshape([-1, 4])],
  'reshape([-1, -1])': [
    'ValueError',
    'at most one length of -1 for shape but received [-1, -1]',
    () => matrix().reshape([-1, -1]),
  ],
  'set(0, 0)': [
    'IndexError',
    '2 indices and then a value for shape [2, 3] but received 2 arguments',
    () => matrix().set(0, 0),
  ],
  'copyFrom(typed array)': [
    'TypeError',
    'a tensor (Tensor.wrap makes one of a typed array',
    () => matrix().copyFrom(any(new Float32Array(6))),
  ],
  'copyFrom()': ['TypeError', 'for source but received undefined', () => matrix().copyFrom(any(undefined))],
  'fromDLPack([1, 2])': ['TypeError', 'for an array of values use Tensor.from', () => fromDLPack([1, 2] as never)],
  'fromDLPack(ArrayBuffer)': [
    'TypeError',
    'use Tensor.wrap, adopt or from',
    () => fromDLPack(new ArrayBuffer(8) as never),
  ],
  'fromDLPack(promise)': ['TypeError', 'await a promise first', () => fromDLPack(Promise.resolve(matrix()) as never)],
  'fromDLPack(address)': ['TypeError', 'importManaged of dlpack/native', () => fromDLPack(any(4096n))],
  'fromDLPack({ data, dims })': [
    'TypeError',
    'Tensor.wrap(values, { shape })',
    () => fromDLPack({ data: new Float32Array(2), dims: [2] }),
  ],
  'viewTensor(buffer)': [
    'TypeError',
    '{ buffer, byteOffset, model } with the model lp64, wasm32 or wasm64 for place',
    () => viewTensor(any(new ArrayBuffer(64))),
  ],
  'viewTensor()': ['TypeError', 'for place but received undefined', () => viewTensor(any(undefined))],
  'toHostMdspan(tensor)': [
    'TypeError',
    'hostMdspan(tensor) makes a span',
    () => toHostMdspan(any(matrix()), { dtype: 'float32', rank: 2 }),
  ],
  'a proxy of a tensor': ['TypeError', 'not a proxy of one', () => new Proxy(matrix(), {}).shape],
  'set() of a proxy': ['TypeError', 'not a proxy of one', () => new Proxy(matrix(), {}).set(0, 0, 1)],
  'isDisposed of a proxy': ['TypeError', 'not a proxy of one', () => new Proxy(matrix(), {}).isDisposed],
  'from(a proxy of a tensor)': ['TypeError', 'not a proxy of one', () => Tensor.from(new Proxy(matrix(), {}))],
  'a method without its tensor': [
    'TypeError',
    'a Tensor or TensorView itself, not a proxy of one for tensor but received undefined',
    () => {
      const { toArray } = matrix();
      toArray();
    },
  ],
  'toString of something else': ['TypeError', 'received 5 (number)', () => Tensor.prototype.toString.call(any(5))],
  'dispose of something else': ['TypeError', 'an object of Object', () => Tensor.prototype.dispose.call(any({}))],
  'expectTensor(x, { shape: 6 })': [
    'TypeError',
    'lengths such as [null, 3] for shape but received 6',
    () => expectTensor(matrix(), { shape: any(6) }),
  ],
  'expectTensor(x, { dtype: 6 })': [
    'TypeError',
    'a dtype name such as "float32"',
    () => expectTensor(matrix(), { dtype: any(6) }),
  ],
  'formatDType()': ['TypeError', 'for dtype but received undefined', () => formatDType(any(undefined))],
  'formatDevice()': ['TypeError', 'for device but received undefined', () => formatDevice(any(undefined))],
  'parseDType of bigints': [
    'TypeError',
    'the numbers code, bits and lanes for dtype but received [2, 32, 1] (Array)',
    () => parseDType(any({ code: 2n, bits: 32n, lanes: 1n })),
  ],
  'parseDevice of bigints': [
    'TypeError',
    'the numbers type and id for device but received [1, 0] (Array)',
    () => parseDevice(any({ type: 1n, id: 0n })),
  ],
  'sizeBytes(dtype, 5n)': ['TypeError', 'zero or more for count', () => sizeBytes(parseDType('int8'), any(5n))],
  'zeros({ length: -1 })': ['TypeError', 'an array of integers', () => Tensor.zeros(any({ length: -1 }), 'int8')],
  'a request that is none': ['TypeError', 'for request but received 5', () => matrix()[DLPACK](any(5))],
  'a stream that has no number': [
    'TypeError',
    'a bigint or null for stream',
    () => matrix()[DLPACK]({ stream: any(Symbol('s')) }),
  ],
  'a deleter that throws something without a text': [
    'ForeignError',
    'an object of no class',
    () =>
      fromDLPack({
        [DLPACK]: () => ({
          ...matrix()[DLPACK](),
          deleter: () => {
            throw Object.create(null);
          },
        }),
      }).dispose(),
  ],
  'layoutOf(struct, something)': [
    'TypeError',
    'lp64, wasm32 or wasm64 for model',
    () => layoutOf(DLTensor, any(matrix())),
  ],
  'layoutOf(something)': ['TypeError', 'such as DLTensor', () => layoutOf(any({}), lp64)],
  'viewTensor(place, flags)': [
    'TypeError',
    'a bigint for flags',
    () => viewTensor({ buffer: new ArrayBuffer(64), byteOffset: 0, model: lp64 }, any(1)),
  ],
  'wrap(detached buffer)': [
    'BufferError',
    'its buffer is detached',
    () => Tensor.wrap(detached().buffer, { dtype: 'int8' }),
  ],
  'data of no elements over a detached buffer': [
    'DisposedError',
    'detached',
    () => {
      const array = new Float32Array(0);
      const x = Tensor.wrap(array);
      structuredClone(array, { transfer: [array.buffer] });
      return x.data;
    },
  ],
  'wrap(detached)': ['BufferError', 'its buffer is detached', () => Tensor.wrap(detached())],
  'from(detached)': ['BufferError', 'its buffer is detached', () => Tensor.from(detached())],
  'adopt twice': [
    'BufferError',
    'its buffer is detached: transferred, adopted or disposed before',
    () => {
      const array = new Float32Array(3);
      Tensor.adopt(array);
      Tensor.adopt(array);
    },
  ],
};

for (const [mistake, [tag, says, action]] of Object.entries(mistakes)) {
  test(mistake, () => {
    throws(tag, says, action);
  });
}

test('arrays without elements are allowed', () => {
  const makers: ((array: Float32Array) => Tensor)[] = [Tensor.wrap, Tensor.from, Tensor.adopt];
  for (const make of makers) {
    if (make(new Float32Array(0)).size !== 0) throw new Error('expected a tensor without elements');
  }
});

test('an array of tensors is refused, without the advice for a tensor of another library', () => {
  const { message } = throws('TypeError', '', () => Tensor.from(any([matrix(), matrix()])));
  equal([message.includes('another library'), message.includes('Tensor.stack')], [false, true]);
});
