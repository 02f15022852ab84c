/** Types that users rely on. Compiling this file is the test. */

import {
  type ArgumentTypeError,
  type DLPackProducer,
  expectTensor,
  fromDLPack,
  isDLPackError,
  type JoinOptions,
  Tensor,
  TensorView,
} from 'dlpack';
import {
  fromAudioBuffer,
  fromImageData,
  fromNdarray,
  fromOnnxRuntime,
  fromSharp,
  toImageData,
  toOnnxRuntime,
} from 'dlpack/adapters';
import type { CudaError, Stream } from 'dlpack/cuda';
import { openNpy, openNpySync, TensorFile } from 'dlpack/files';
import { importManaged, toExternal } from 'dlpack/native';
import type { PythonError } from 'dlpack/python';
import { openTensor, type TensorToken } from 'dlpack/shared';
import type { TVMFFIError } from 'dlpack/tvm-ffi';

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function type<_T extends true>(): void {}

// The typed array follows the dtype.
type<Equal<Tensor<'int64'>['data'], BigInt64Array>>();
type<Equal<Tensor<'float32'>['data'], Float32Array>>();
type<Equal<Tensor<'float32x4'>['data'], Float32Array>>();
type<Equal<Tensor<'bfloat16'>['data'], Uint16Array>>();
type<Equal<Tensor<'bool'>['data'], Uint8Array>>();

// An object with the properties of a tensor is not a tensor.
// @ts-expect-error
type<Pick<TensorView, keyof TensorView> extends TensorView ? true : false>();

// The value follows it, too.
type<Equal<ReturnType<Tensor<'int64'>['get']>, bigint>>();
type<Equal<ReturnType<Tensor<'bool'>['get']>, boolean>>();
type<Equal<ReturnType<Tensor<'float8_e4m3fn'>['get']>, number>>();
type<Equal<ReturnType<Tensor<'float32x4'>['get']>, readonly number[]>>();

// Constructors infer it.
const named = Tensor.from([[1, 2]], { dtype: 'float16' });
type<Equal<typeof named, Tensor<'float16'>>>();
const natural = Tensor.wrap(new BigUint64Array(2));
type<Equal<typeof natural, Tensor<'uint64'>>>();
const adopted = Tensor.adopt(new Int16Array(2));
type<Equal<typeof adopted, Tensor<'int16'>>>();
const empty = Tensor.empty([2], 'uint8');
type<Equal<typeof empty, Tensor<'uint8'>>>();
const cast = empty.astype('int64');
type<Equal<typeof cast, Tensor<'int64'>>>();

// Nested arrays of values, too.
type<Equal<ReturnType<typeof numbers.get>, number>>();
const numbers = Tensor.from([1, 2, 3]);
type<Equal<typeof numbers, Tensor<'float64'>>>();
const wide = Tensor.from([[1n], [2n]]);
type<Equal<typeof wide, Tensor<'int64' | 'uint64'>>>();
const flags = Tensor.from(true);
type<Equal<typeof flags, Tensor<'bool'>>>();
const complex = Tensor.from([1, { re: 1, im: 2 }]);
type<Equal<typeof complex, Tensor<'complex128'>>>();
const rows = Tensor.from([new Float32Array(2), new Float32Array(2)]);
type<Equal<typeof rows, Tensor<'float64'>>>();
const again = Tensor.from(numbers.toArray());
type<Equal<typeof again, Tensor>>();
const mixed = Tensor.from([1, 2n] as (number | bigint)[]);
type<Equal<typeof mixed, Tensor>>();
const parsed = Tensor.from(JSON.parse('[1]'));
type<Equal<typeof parsed, Tensor>>();
const clamped = Tensor.from(new Uint8ClampedArray(2));
type<Equal<typeof clamped, Tensor<'uint8'>>>();

// Joined tensors have the dtype of the tensors, that of the options, or the type of out.
type<Equal<ReturnType<typeof joinSame>, Tensor<'float32'>>>();
const joinSame = () => Tensor.stack([Tensor.empty([2], 'float32'), Tensor.empty([2], 'float32').view()], { axis: 1 });
type<Equal<ReturnType<typeof joinSeveral>, Tensor<'float32' | 'int8'>>>();
const joinSeveral = () => Tensor.concat([Tensor.empty([2], 'float32'), Tensor.empty([2], 'int8')]);
type<Equal<ReturnType<typeof joinAs>, Tensor<'int8'>>>();
const joinAs = () => Tensor.concat([Tensor.empty([2], 'float32')], { dtype: 'int8' });
type<Equal<ReturnType<typeof joinBy>, Tensor>>();
const joinBy = (options: JoinOptions) => Tensor.concat([Tensor.empty([2], 'float32')], options);
type<Equal<ReturnType<typeof joinInto>, TensorView<'int8'>>>();
const joinInto = () => Tensor.stack([natural], { out: Tensor.empty([1, 2], 'int8').view() });
// @ts-expect-error: out has a dtype
Tensor.stack([natural], { out: natural, dtype: 'int8' });
// @ts-expect-error: values of int64 are bigints
Tensor.full([2], 1, 'int64');
const positions = Tensor.arange(3, 'int64');
type<Equal<typeof positions, Tensor<'int64'>>>();

// Another owner has the same dtype. Only memory can be shared.
const secondOwner = natural.share();
type<Equal<typeof secondOwner, Tensor<'uint64'>>>();
natural.sharesMemory(new Uint8ClampedArray(2));
// @ts-expect-error: an array of numbers has no memory to share
natural.sharesMemory([1, 2]);

// A stream is an object of dlpack/cuda, a number or null.
declare const stream: Stream;
fromDLPack(natural, { stream });
fromDLPack(natural, { stream: 1n });
fromDLPack(natural, { stream: null });
// @ts-expect-error: a bigint
fromDLPack(natural, { stream: 1 });
// @ts-expect-error: no such option
fromDLPack(natural, { devise: 'cuda:0' });

// Tags narrow the type, also tags of other subpaths.
declare const error: unknown;
if (isDLPackError(error, 'TypeError')) type<Equal<typeof error, ArgumentTypeError>>();
if (isDLPackError(error, 'CudaError')) type<Equal<typeof error, CudaError>>();
if (isDLPackError(error, 'PythonError')) type<Equal<typeof error, PythonError>>();
if (isDLPackError(error, 'TVMFFIError')) type<Equal<typeof error, TVMFFIError>>();
// @ts-expect-error: no such tag
isDLPackError(error, 'CudaErorr');

// Derived tensors keep their types.
const part = natural.slice(0);
type<Equal<typeof part, Tensor<'uint64'>>>();
const view = natural.view();
type<Equal<typeof view, TensorView<'uint64'>>>();
const shared = fromDLPack(natural);
type<Equal<typeof secondOwner, Tensor<'uint64'>>>();
type<Equal<typeof shared, Tensor<'uint64'>>>();
declare const foreign: DLPackProducer;
const named32 = fromDLPack(foreign, { dtype: 'float32', shape: [null, 3], copy: null });
type<Equal<(typeof named32)['data'], Float32Array>>();
type<Equal<ReturnType<(typeof named32)['toArray']>, number[][]>>();
// biome-ignore lint/suspicious/noExplicitAny: a Python object is any
const ofPython = fromDLPack({} as any);
type<Equal<typeof ofPython, Tensor>>();
// @ts-expect-error: a type argument is no cast
fromDLPack<'float32'>(foreign);

// A spec narrows.
declare const anything: unknown;
const image = expectTensor(anything, { dtype: 'uint8', shape: [null, null, 3], device: 'cpu' });
type<Equal<(typeof image)['data'], Uint8Array>>();
type<Equal<(typeof image)['shape']['length'], 3>>();
type<Equal<(typeof image)['shape'][2], 3>>();
const plain: Tensor<'uint8'> = image;

// Nested arrays are as deep as the shape is long, and can be indexed to any depth where that is not known.
type<Equal<ReturnType<(typeof image)['toArray']>, number[][][]>>();
const scalar = expectTensor(anything, { dtype: 'int64', shape: [] });
type<Equal<ReturnType<(typeof scalar)['toArray']>, bigint>>();
const corner: number = numbers.toArray()[0][1];
// @ts-expect-error: it has three axes
image.toArray()[0]?.[1]?.[2]?.[3];
const asView: TensorView = image;
const literal = expectTensor(Tensor.from([[1, 2]]), { shape: [null, null] });
type<Equal<ReturnType<(typeof literal)['toArray']>, number[][]>>();
// A variable takes tensors of other shapes, so literals have none in their types.
const reassigned = () => {
  let x = Tensor.zeros([2], 'float32');
  x = Tensor.zeros([2, 2], 'float32');
  return new Map([
    ['weight', x],
    ['bias', Tensor.zeros([3], 'float32')],
  ]);
};
type<Equal<ReturnType<typeof reassigned>, Map<string, Tensor<'float32'>>>>();
// A tensor derived from it has another shape, which the compiler does not know. Its dtype and its owner are the same.
const derived = () => ({
  slice: image.slice(0),
  reshape: image.reshape([5]),
  transpose: image.transpose([2, 0, 1]),
  broadcast: image.broadcastTo([2, 4, 4, 3]),
  squeeze: image.squeeze(),
  expand: image.expandDims(0),
});
type<Equal<ReturnType<typeof derived>[keyof ReturnType<typeof derived>], Tensor<'uint8'>>>();
const derivedView = () => expectTensor(view, { dtype: 'uint64', shape: [2] }).slice(0);
type<Equal<ReturnType<typeof derivedView>, TensorView<'uint64'>>>();
// @ts-expect-error: only the shape before is known
const channels: 3 = image.transpose([2, 0, 1]).shape[2];
// These have the same shape.
const alike = () => [image.flip(), image.fill(0), image.copyFrom(image)] as const;
type<Equal<ReturnType<ReturnType<typeof alike>[number]['toArray']>, number[][][]>>();
const either = expectTensor(anything, { dtype: ['float32', 'float64'] });
type<Equal<(typeof either)['dtype'], 'float32' | 'float64'>>();

// Mistakes are errors.
// @ts-expect-error: no such dtype
Tensor.empty([2], 'float33');
// @ts-expect-error: no such device
Tensor.empty([2], 'float32', { device: 'gpu' });
// @ts-expect-error: a view does not own its memory
view.dispose();
// @ts-expect-error: the shape is frozen
natural.shape[0] = 3;
// @ts-expect-error: 64-bit elements are bigints
natural.set(0, 1);
// @ts-expect-error: both methods make a producer
const half: DLPackProducer = { [Symbol.for('dlpack')]: () => ({}) };

if (image.is('uint8')) type<Equal<(typeof image)['dtype'], 'uint8'>>();
void [
  plain,
  corner,
  channels,
  asView,
  named,
  flags,
  complex,
  rows,
  again,
  mixed,
  parsed,
  clamped,
  wide,
  cast,
  part,
  shared,
  either,
  half,
];

// fromDLPack takes producers: no empty objects, arrays, typed arrays, buffers or promises.
const theirSymbol = Symbol.for('dlpack');
class TheirTensor {
  [theirSymbol](): object {
    return {};
  }
}
class TheirMatrix {
  readonly rows = 1;
  [Symbol.for('dlpack')](): object {
    return {};
  }
}
void (() => {
  fromDLPack(new TheirTensor()); // a producer that does not import this package
  fromDLPack(new TheirMatrix());
  const theirs = fromDLPack(new TheirTensor(), { dtype: 'float32', shape: [2] });
  type<Equal<(typeof theirs)['dtype'], 'float32'>>();
  type<Equal<(typeof theirs)['shape'][0], 2>>();
  fromDLPack({ __dlpack__: () => ({}), __dlpack_device__: () => [1, 0] });
  fromDLPack(toExternal(numbers));
  // @ts-expect-error
  fromDLPack({});
  // @ts-expect-error
  fromDLPack({}, { dtype: 'float32' });
  // @ts-expect-error
  fromDLPack(numbers as object);
  // @ts-expect-error
  fromDLPack('numbers');
  // @ts-expect-error
  fromDLPack([1]);
  // @ts-expect-error
  fromDLPack(new Float32Array(2));
  // @ts-expect-error
  fromDLPack(new ArrayBuffer(2));
  // @ts-expect-error
  fromDLPack(Promise.resolve(numbers));
  // @ts-expect-error
  toOnnxRuntime({}, { Tensor: class {} });
  // @ts-expect-error
  toOnnxRuntime([1], { Tensor: class {} });
  // @ts-expect-error
  toOnnxRuntime(new Float32Array(2), { Tensor: class {} });
});

// The dtype of a library's object survives where the library declares it.
interface Ort<T extends string> {
  readonly type: T;
  readonly dims: readonly number[];
  readonly location: string;
  readonly data: unknown;
}
declare const ortTyped: Ort<'float32'>;
declare const ortAny: Ort<'float32' | 'int64' | 'string'>;
declare const ortUnknown: Ort<string>;
declare const canvas: { data: Uint8ClampedArray; width: number; height: number };
declare const raw: { data: Uint8Array; info: { width: number; height: number; channels: number } };
const survivors = () => ({
  typed: fromOnnxRuntime(ortTyped),
  some: fromOnnxRuntime(ortAny, { adopt: true }),
  any: fromOnnxRuntime(ortUnknown),
  image: fromImageData(canvas),
  array: fromNdarray({ data: new Int16Array(2), shape: [2], stride: [1], offset: 0 }),
  sharp: fromSharp(raw, { dtype: 'uint16' }),
  audio: fromAudioBuffer({ numberOfChannels: 1, length: 1, getChannelData: () => new Float32Array(1) } as never),
});
type Survivors = ReturnType<typeof survivors>;
type<Equal<Survivors['typed'], Tensor<'float32'>>>();
type<Equal<Survivors['some'], Tensor<'float32' | 'int64'>>>();
type<Equal<Survivors['any'], Tensor>>();
type<Equal<Survivors['image'], Tensor<'uint8'>>>();
type<Equal<Survivors['array'], Tensor<'int16'>>>();
type<Equal<Survivors['sharp'], Tensor<'uint16'>>>();
type<Equal<Survivors['audio'], Tensor<'float32'>>>();
// An option that the library does not have is an error.
void (() => {
  // @ts-expect-error
  fromNdarray({ data: new Int16Array(2), shape: [2], stride: [1], offset: 0 }, { gpuDevice: {} });
  // @ts-expect-error: the class comes second
  toImageData(numbers, { copy: false });
});

// A type argument alone is no cast: a check narrows.
declare const model: TensorFile;
declare const token: TensorToken;
const checkedOnes = () => ({
  file: model.get('weight', { dtype: 'float32', shape: [null, 3] }),
  plain: model.get('weight'),
  later: model.getAsync('weight', { dtype: 'float32', shape: [null, 3], device: 'cuda:0' }),
  plainLater: model.getAsync('weight', { device: 'cuda:0' }),
  npy: openNpySync('a.npy', { dtype: 'bfloat16', mode: 'c' }),
  npyLater: openNpy('a.npy', { dtype: 'float32' }),
  npyPlain: openNpy('a.npy', { mode: 'c' }),
  opened: openTensor(token, { dtype: ['int8', 'uint8'] }),
  any: openTensor(token),
});
type Checked = ReturnType<typeof checkedOnes>;
type<Equal<Checked['file']['dtype'], 'float32'>>();
type<Equal<Checked['plain'], Tensor>>();
type<Equal<Awaited<Checked['later']>['dtype'], 'float32'>>();
type<Equal<Awaited<Checked['later']>['shape'][1], 3>>();
type<Equal<Checked['plainLater'], Promise<Tensor>>>();
type<Equal<Checked['npy'], Tensor<'bfloat16'>>>();
type<Equal<Checked['npyLater'], Promise<Tensor<'float32'>>>>();
type<Equal<Checked['npyPlain'], Promise<Tensor>>>();
type<Equal<Checked['opened']['dtype'], 'int8' | 'uint8'>>();
type<Equal<Checked['any'], Tensor>>();
void (() => {
  // @ts-expect-error
  openNpySync<'float32'>('a.npy');
  // @ts-expect-error
  openTensor<'float32'>(token);
  // @ts-expect-error
  importManaged<'float32'>(0n);
});

// Programs cannot call the constructor, but a class is still an argument for what takes classes, such as schemas.
declare function instanceOf<T extends abstract new (...args: unknown[]) => object>(type: T): InstanceType<T>;
const instances = () => ({ tensor: instanceOf(Tensor), view: instanceOf(TensorView), file: instanceOf(TensorFile) });
type<Equal<ReturnType<typeof instances>, { tensor: Tensor; view: TensorView; file: TensorFile }>>();
type<Equal<InstanceType<typeof Tensor>, Tensor>>();
type<Equal<InstanceType<typeof Tensor<'float32'>>, Tensor<'float32'>>>();
void (() => {
  // @ts-expect-error
  new Tensor();
  // @ts-expect-error
  new TensorView({});
  // @ts-expect-error
  new TensorFile();
});
