/** Ten pairs of libraries from end to end, with the addresses of the memory compared. */

import { fromDLPack, Tensor, type TypedArray } from 'dlpack';
import {
  type ArrowModule,
  type ArrowVector,
  adapt,
  fromOnnxRuntime,
  type NdArray,
  type OnnxModule,
  type OnnxTensor,
  type SharpImage,
  type TensorFlowModule,
  type TensorFlowTensor,
  type TransformersTensor,
  toArrow,
  toNdarray,
  toOnnxRuntime,
  toTensorFlow,
  toTransformers,
} from 'dlpack/adapters';
import { addressOf } from 'dlpack/native';
import type { PyObject } from 'dlpack/python';
import { loadModule as loadKernels } from 'dlpack/tvm-ffi';
import { equal, notEqual } from '../assert.js';
import { testWith } from '../harness.js';
import { makeModel } from '../interop/libraries/model.js';
import { probe } from '../interop/python/available.js';
import { kernelsMissing, kernelsPath } from '../interop/tvm-ffi/peer.js';
import { load, loadModule, loadTensorFlow, missing } from './libraries.js';

interface OrtTensor extends OnnxTensor {
  readonly data: TypedArray;
}
interface OnnxRuntime extends OnnxModule<OrtTensor> {
  readonly InferenceSession: {
    create(model: Uint8Array): Promise<{
      run(feeds: { x: OrtTensor }, fetches?: { y: OrtTensor }): Promise<{ y: OrtTensor }>;
      release(): Promise<void>;
    }>;
  };
}
interface TensorFlow extends TensorFlowModule<TensorFlowTensor> {
  setBackend(name: string): Promise<boolean>;
}
interface Kernels {
  add_one(x: Tensor, y: Tensor): void;
  iota(length: number): Tensor;
}

const { module: np, missing: noNumPy } = probe('numpy');
const noOrt = missing('onnxruntime-node');
const noTensorFlow = missing('@tensorflow/tfjs-backend-wasm');
const noArrow = missing('apache-arrow');

const rows = () =>
  Tensor.from(
    [
      [1, 2, 3],
      [4, 5, 6],
    ],
    { dtype: 'float32' },
  );
const arrayAddress = (array: PyObject): bigint => BigInt(array.ctypes.data as unknown as number);

/** y = x + x, into memory of our own where `out` is given. */
async function double(input: OrtTensor, out?: OrtTensor): Promise<OrtTensor> {
  const ort = load<OnnxRuntime>('onnxruntime-node');
  const session = await ort.InferenceSession.create(makeModel('Add', 2, 'float32'));
  const { y } = await session.run({ x: input }, ...(out === undefined ? [] : [{ y: out }]));
  await session.release();
  return y;
}

testWith(noNumPy || noOrt, 'NumPy → ONNX Runtime → NumPy', async () => {
  const ort = load<OnnxRuntime>('onnxruntime-node');
  const batch = np.arange(6).astype('float32').reshape(2, 3);
  const input = toOnnxRuntime(fromDLPack(batch), ort);
  equal(addressOf(Tensor.wrap(input.data)), arrayAddress(batch), "the model reads NumPy's memory");
  const y = await double(input);
  const address = addressOf(fromOnnxRuntime(y));
  const result = np.from_dlpack(fromOnnxRuntime(y, { adopt: true }));
  equal(arrayAddress(result), address, "NumPy reads the model's memory");
  equal(String(result.tolist()), '[[0.0, 2.0, 4.0], [6.0, 8.0, 10.0]]');
});

testWith(noNumPy || noOrt, 'ONNX Runtime → memory of NumPy', async () => {
  const ort = load<OnnxRuntime>('onnxruntime-node');
  const target = np.zeros([2, 3]).astype('float32');
  await double(toOnnxRuntime(rows(), ort), toOnnxRuntime(fromDLPack(target), ort));
  equal(String(target.tolist()), '[[2.0, 4.0, 6.0], [8.0, 10.0, 12.0]]');
});

testWith(noOrt || missing('sharp'), 'sharp → a model', async () => {
  const ort = load<OnnxRuntime>('onnxruntime-node');
  type Sharp = (input: object) => { raw(): { toBuffer(options: object): Promise<SharpImage> } };
  const image = load<Sharp>('sharp')({ create: { width: 3, height: 2, channels: 3, background: '#0a141e' } });
  const raw = await image.raw().toBuffer({ resolveWithObject: true });
  const pixels = adapt(raw);
  equal(addressOf(pixels), addressOf(Tensor.wrap(raw.data)), 'shared');
  const red = pixels.transpose([2, 0, 1]).slice([0, 1]).reshape([2, 3]).astype('float32');
  const input = toOnnxRuntime(red, ort);
  equal(addressOf(Tensor.wrap(input.data)), addressOf(red), 'the model reads what astype wrote');
  equal(adapt(await double(input)).toArray(), [
    [20, 20, 20],
    [20, 20, 20],
  ]);
});

testWith(noOrt || missing('@huggingface/transformers'), 'transformers.js ↔ ONNX Runtime', async () => {
  type Transformers = OnnxModule<TransformersTensor & { mul_(factor: number): unknown; tolist(): number[][] }>;
  const transformers = await loadModule<Transformers>('@huggingface/transformers/dist/transformers.node.mjs');
  const ort = load<OnnxRuntime>('onnxruntime-node');
  const x = rows();
  const t = toTransformers(x, transformers);
  t.mul_(10);
  equal([x.get(1, 2), t.tolist()[1]], [60, [40, 50, 60]], 'an operation of the library in our memory');
  equal(addressOf(adapt(t)), addressOf(x));
  const y = await double(toOnnxRuntime(adapt(t), ort));
  equal(adapt(y).get(1, 2), 120);

  // A session takes float16 tensors of transformers.js, too, whether or not the runtime has a Float16Array.
  const halves = Tensor.from([[1.5, -2, 0.25]], { dtype: 'float16' });
  const session = await ort.InferenceSession.create(makeModel('Identity', 1, 'float16'));
  const result = await session.run({ x: toTransformers(halves, transformers).ort_tensor as OrtTensor });
  equal(adapt(result.y).toArray(), [[1.5, -2, 0.25]]);
  await session.release();
});

testWith(noOrt || noTensorFlow, 'TensorFlow.js → ONNX Runtime', async () => {
  const tf = loadTensorFlow<TensorFlow>();
  await tf.setBackend('cpu');
  const ort = load<OnnxRuntime>('onnxruntime-node');
  const x = rows();
  const input = toOnnxRuntime(adapt(toTensorFlow(x, tf)), ort);
  equal(addressOf(Tensor.wrap(input.data)), addressOf(x));
  equal(adapt(await double(input)).toArray(), [
    [2, 4, 6],
    [8, 10, 12],
  ]);
});

testWith(noNumPy || noArrow, 'Apache Arrow → NumPy → Apache Arrow', () => {
  const arrow = load<ArrowModule<ArrowVector>>('apache-arrow');
  const vector = toArrow(Tensor.from([1, 2, 3], { dtype: 'float64' }), arrow);
  const column = adapt(vector, { copy: true });
  const array = np.from_dlpack(column);
  equal(arrayAddress(array), addressOf(column));
  const back = toArrow(fromDLPack(array), arrow);
  equal(addressOf(adapt(back)), addressOf(column));
});

testWith(noNumPy || missing('ndarray'), 'ndarray ↔ NumPy, transposed', () => {
  const ndarray = load<(data: object, shape: number[], stride: number[], offset: number) => NdArray>('ndarray');
  const matrix = np.arange(6).astype('float64').reshape(2, 3);
  const view = toNdarray(fromDLPack(matrix.T), ndarray);
  equal(
    [view.shape, view.stride],
    [
      [3, 2],
      [1, 3],
    ],
  );
  equal(addressOf(adapt(view)), arrayAddress(matrix));
});

testWith(kernelsMissing || noOrt, 'a kernel → ONNX Runtime → a kernel', async () => {
  const ort = load<OnnxRuntime>('onnxruntime-node');
  const kernels = loadKernels<Kernels>(kernelsPath);
  const x = kernels.iota(6).reshape([2, 3]);
  const input = toOnnxRuntime(x, ort);
  equal(addressOf(Tensor.wrap(input.data)), addressOf(x));
  const y = fromOnnxRuntime(await double(input), { adopt: true }).reshape([6]);
  kernels.add_one(y, y);
  equal(y.toArray(), [1, 3, 5, 7, 9, 11]);
});

testWith(kernelsMissing || noTensorFlow, 'TensorFlow.js → a kernel', async () => {
  const tf = loadTensorFlow<TensorFlow>();
  await tf.setBackend('cpu');
  const kernels = loadKernels<Kernels>(kernelsPath);
  const t = toTensorFlow(Tensor.from([1, 2, 3], { dtype: 'float32' }), tf);
  const out = Tensor.empty([3], 'float32');
  kernels.add_one(adapt(t), out);
  equal(out.toArray(), [2, 3, 4]);
});

testWith(noNumPy || missing('@jax-js/jax'), 'NumPy → jax-js → NumPy, copied', async () => {
  interface Jax {
    readonly numpy: { array(values: unknown, options?: object): JaxLike; add(a: JaxLike, b: JaxLike): JaxLike };
    init(...devices: string[]): Promise<unknown>;
    defaultDevice(device: string): void;
  }
  type JaxLike = object & { readonly ref: JaxLike };
  const jax = await loadModule<Jax>('@jax-js/jax/dist/index.js');
  await jax.init('cpu');
  jax.defaultDevice('cpu');
  const { toJaxJs } = await import('dlpack/adapters');
  const array = np.arange(3).astype('float32');
  const a = toJaxJs(fromDLPack(array), jax.numpy);
  const sum = adapt(jax.numpy.add(a.ref, a), { adopt: true });
  const result = np.from_dlpack(sum);
  equal(String(result.tolist()), '[0.0, 2.0, 4.0]');
  equal(arrayAddress(result), addressOf(sum));
  notEqual(arrayAddress(result), arrayAddress(array));
});
