/** Types that users rely on. Compiling this file is the test. */

import {
  type ArgumentTypeError,
  type DLPackProducer,
  expectTensor,
  fromDLPack,
  isDLPackError,
  Tensor,
  type TensorView,
} from 'dlpack';
import type { CudaError, Stream } from 'dlpack/cuda';
import type { PythonError } from 'dlpack/python';
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
type<Equal<typeof again, Tensor<'float64'>>>();
const mixed = Tensor.from([1, 2n] as (number | bigint)[]);
type<Equal<typeof mixed, Tensor>>();
const parsed = Tensor.from(JSON.parse('[1]'));
type<Equal<typeof parsed, Tensor>>();
const clamped = Tensor.from(new Uint8ClampedArray(2));
type<Equal<typeof clamped, Tensor<'uint8'>>>();

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
type<Equal<typeof shared, Tensor<'uint64'>>>();

// A spec narrows.
declare const anything: unknown;
const image = expectTensor(anything, { dtype: 'uint8', shape: [null, null, 3], device: 'cpu' });
type<Equal<(typeof image)['data'], Uint8Array>>();
type<Equal<(typeof image)['shape']['length'], 3>>();
type<Equal<(typeof image)['shape'][2], 3>>();
const plain: Tensor<'uint8'> = image;
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
void [plain, named, flags, complex, rows, again, mixed, parsed, clamped, wide, cast, part, shared, either, half];
