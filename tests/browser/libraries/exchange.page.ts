/** GPU tensors between onnxruntime-web, TensorFlow.js and jax-js, on one GPUDevice in a real browser. */

import { fromDLPack, Tensor } from 'dlpack';
import { fromJaxJs, fromOnnxRuntime, fromTensorFlow, toJaxJs, toOnnxRuntime, toTensorFlow } from 'dlpack/adapters';
import { gpuMemoryOf } from 'dlpack/webgpu';
import { equal, ok } from '../../assert.js';
import { test } from '../../harness.js';
import { uncaptured } from '../../webgpu/device.js';
import { loadLibraries, makeSession } from './load.js';

const { jax, tf, ort, device } = await loadLibraries();
const gpuDevice = device;
const session = await makeSession(ort, device);
const values = async (x: Tensor): Promise<unknown> => (await x.toAsync('cpu')).toArray();
const start = () => Tensor.from([[1, 2, 3, 4], [5, 6, 7, 8]], { dtype: 'float32' }).to(device); // biome-ignore format: a table

test('jax-js to ONNX Runtime to TensorFlow.js to jax-js, with equal results', async () => {
  const a = jax.numpy.array(new Float32Array([1, 2, 3, 4, 5, 6, 7, 8]), { shape: [2, 4] }).add(1);
  const x = fromJaxJs(a, { gpuDevice }); // 2 .. 9
  const { y } = await session.run({ x: toOnnxRuntime(x, ort as never, { gpuDevice }) });
  const squares = fromOnnxRuntime(y as never, { gpuDevice }); // 4 .. 81
  const t = toTensorFlow(squares, tf as never) as never as Parameters<typeof tf.add>[0];
  const sum = tf.add(t, t); // 8 .. 162
  const z = fromTensorFlow(sum as never, { backend: tf.backend() });
  const back = toJaxJs(z, jax.numpy as never, { gpuDevice }) as never as typeof a;
  const expected = [2, 3, 4, 5, 6, 7, 8, 9].map((v) => 2 * v * v);
  equal([...(await back.mul(1).data())], expected);
  equal(await values(z), [expected.slice(0, 4), expected.slice(4)]);
  a.dispose();
  for (const owner of [x, squares, z]) owner.dispose();
});

test('ONNX Runtime shares: the input is our buffer, and a write after the exchange is seen', async () => {
  const x = start();
  const input = toOnnxRuntime(x, ort as never, { copy: false }) as never as { gpuBuffer: object; dispose(): void };
  ok(input.gpuBuffer === gpuMemoryOf(x).buffer);
  x.fill(3); // after the exchange
  const { y } = await session.run({ x: input as never });
  const out = fromOnnxRuntime(y as never, { gpuDevice, copy: false });
  ok(gpuMemoryOf(out).buffer === (y as never as { gpuBuffer: object }).gpuBuffer);
  equal(await values(out), [[9, 9, 9, 9], [9, 9, 9, 9]]); // biome-ignore format: a table
  input.dispose();
});

test('TensorFlow.js shares in both directions', async () => {
  const x = start();
  const t = toTensorFlow(x, tf as never, { copy: false }) as never as Parameters<typeof tf.add>[0];
  x.fill(5); // after the exchange
  equal([...(await tf.add(t, 1).data())], new Array(8).fill(6));
  const sum = tf.add(t, 2);
  const y = fromTensorFlow(sum as never, { backend: tf.backend() });
  y.fill(40); // writes into the memory of TensorFlow.js
  equal([...(await tf.add(sum, 1).data())], new Array(8).fill(41));
});

test('jax-js shares its result, and takes a copy made on the GPU', async () => {
  const a = jax.numpy.array(new Float32Array([1, 2, 3, 4])).add(1);
  const x = fromJaxJs(a, { gpuDevice });
  x.fill(7); // writes into the memory of jax-js
  equal([...(await a.add(1).data())], [8, 8, 8, 8]);
  const made = toJaxJs(x, jax.numpy as never, { gpuDevice }) as never as typeof a;
  x.fill(0);
  equal([...(await made.data())], [7, 7, 7, 7]);
});

test('the owners release their tensors by their own rules, once', async () => {
  const a = jax.numpy.array(new Float32Array([1, 2, 3, 4])).add(1);
  const before = a.refCount;
  const x = fromJaxJs(a, { gpuDevice });
  equal(a.refCount, before + 1);
  const second = fromDLPack(x);
  x.dispose();
  equal(a.refCount, before + 1);
  second.dispose();
  equal(a.refCount, before);
  const { y } = await session.run({ x: toOnnxRuntime(start(), ort as never) as never });
  let disposed = 0;
  const { dispose } = y;
  Object.defineProperty(y, 'dispose', { value: () => { disposed++; dispose.call(y); } }); // biome-ignore format: one line
  const out = fromOnnxRuntime(y as never, { gpuDevice });
  out.dispose();
  out.dispose();
  equal(disposed, 1);
  const count = (t: object) =>
    (tf.backend() as never as { tensorMap: { get(id: object): { refCount: number } } }).tensorMap.get(t)?.refCount;
  const sum = tf.add(tf.tensor([1, 2, 3]), 1);
  const shared = fromTensorFlow(sum as never, { backend: tf.backend() });
  equal(count(sum.dataId), 2);
  shared.dispose();
  equal(count(sum.dataId), 1);
});

test('WebGPU reported no error', async () => {
  await device.queue.onSubmittedWorkDone();
  equal(uncaptured, []);
});
