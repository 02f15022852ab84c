import { Tensor } from 'dlpack';
import { adapt, fromTensorFlow, type TensorFlowTensor, toTensorFlow } from 'dlpack/adapters';
import { addressOf } from 'dlpack/native';
import { equal, throws } from '../assert.js';
import { testWith } from '../harness.js';
import { loadTensorFlow, missing } from './libraries.js';

interface TfTensor extends TensorFlowTensor {
  dispose(): void;
}
interface TensorFlow {
  tensor(values: unknown, shape: readonly number[], dtype?: string): TfTensor;
  complex(re: number[], im: number[]): TfTensor;
  add(a: TfTensor, b: TfTensor): TfTensor;
  tidy<T>(body: () => T): T;
  keep<T>(tensor: T): T;
  setBackend(name: string): Promise<boolean>;
  memory(): { numTensors: number };
}

const absent = missing('@tensorflow/tfjs-backend-wasm');
const tf = absent === false ? loadTensorFlow<TensorFlow>() : (null as never);

testWith(absent, 'tensorflow: the CPU backend shares float32 and int32 in both directions', async () => {
  await tf.setBackend('cpu');
  for (const dtype of ['float32', 'int32'] as const) {
    const x = Tensor.zeros([2, 3], dtype);
    const t = toTensorFlow(x, tf);
    equal([t.dtype, t.shape], [dtype, [2, 3]]);
    const back = fromTensorFlow(t, { copy: false });
    x.set(0, 1, 1);
    equal([Number(back.get(0, 1)), addressOf(back)], [1, addressOf(x)], dtype);
    t.dispose();
    equal(Number(back.get(0, 1)), 1, 'valid after the library disposed its tensor');
  }
  const flags = Tensor.from([true, false]);
  const t = toTensorFlow(flags, tf);
  equal(t.dtype, 'bool');
  const back = fromTensorFlow(t);
  equal([back.dtype, back.toArray()], ['bool', [true, false]]);
  throws('BufferError', 'own memory', () => fromTensorFlow(t, { copy: false }));
});

testWith(absent, 'tensorflow: results of operations are shared', async () => {
  await tf.setBackend('cpu');
  const x = toTensorFlow(Tensor.from([1, 2, 3], { dtype: 'float32' }), tf);
  const sum = tf.add(x, x);
  const y = adapt(sum);
  y.set(0, 40);
  equal([...(sum.dataSync() as Float32Array)], [40, 4, 6]);
});

testWith(absent, 'tensorflow: complex numbers are copied, other dtypes refused', async () => {
  await tf.setBackend('cpu');
  equal(fromTensorFlow(tf.complex([1, 2], [3, 4])).toArray(), [
    { re: 1, im: 3 },
    { re: 2, im: 4 },
  ]);
  throws('BufferError', 'own memory', () => fromTensorFlow(tf.complex([1], [3]), { copy: false }));
  throws('UnsupportedDTypeError', "'string'", () => fromTensorFlow(tf.tensor(['a'], [1], 'string')));
  throws('UnsupportedDTypeError', "'float64'", () => toTensorFlow(Tensor.zeros([1], 'float64'), tf));
});

testWith(absent, 'tensorflow: tidy and keep work as in the library itself', async () => {
  await tf.setBackend('cpu');
  const before = tf.memory().numTensors;
  const kept = tf.tidy(() => {
    toTensorFlow(Tensor.from([1], { dtype: 'float32' }), tf);
    return tf.keep(toTensorFlow(Tensor.from([2], { dtype: 'float32' }), tf));
  });
  equal(tf.memory().numTensors, before + 1);
  const y = fromTensorFlow(kept);
  kept.dispose();
  equal([tf.memory().numTensors, y.toArray()], [before, [2]]);
  throws('TypeError', 'Expected a live tf.Tensor for value', () => fromTensorFlow(kept));
  throws('TypeError', 'Expected a live tf.Tensor for value', () => adapt(kept));
});

testWith(absent, 'tensorflow: the WebAssembly backend copies', async () => {
  equal(await tf.setBackend('wasm'), true);
  const x = Tensor.from([1, 2, 3], { dtype: 'float32' });
  const t = toTensorFlow(x, tf);
  x.set(0, 50);
  const y = fromTensorFlow(tf.add(t, t));
  equal(y.toArray(), [2, 4, 6]);
  throws('BufferError', 'own memory', () => fromTensorFlow(tf.add(t, t), { copy: false }));
  await tf.setBackend('cpu');
});
