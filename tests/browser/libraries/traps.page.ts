/** Errors, silent in some libraries, that happen when a GPUBuffer is passed by hand. The adapters prevent each of them. */

import { Tensor } from 'dlpack';
import { fromJaxJs, fromOnnxRuntime, fromTensorFlow, toJaxJs, toOnnxRuntime, toTensorFlow } from 'dlpack/adapters';
import { fromGPUBuffer, gpuMemoryOf } from 'dlpack/webgpu';
import { equal, ok, throws } from '../../assert.js';
import { test } from '../../harness.js';
import { newDevice, type TestDevice, uncaptured } from '../../webgpu/device.js';
import { loadLibraries, makeSession, type OrtTensor, type TfTensor } from './load.js';

const { jax, tf, ort, device } = await loadLibraries();
const gpuDevice = device;
const session = await makeSession(ort, device);
const other = (await newDevice('other')) as TestDevice;
const values = async (x: Tensor): Promise<unknown> => (await x.toAsync('cpu')).toArray();
const toOrt = (x: Tensor, options = {}) => toOnnxRuntime(x, ort as never, options) as never as OrtTensor;
const toTf = (x: Tensor, options = {}) => toTensorFlow(x, tf as never, options) as never as TfTensor;
const floats = (count: number) => Float32Array.from({ length: count }, (_, i) => i + 1);

/** A tensor over a buffer of exactly its size, as jax-js and TensorFlow.js make them. */
function exact(count: number): Tensor {
  const buffer = device.createBuffer({ size: count * 4, usage: 128 | 8 | 4 });
  device.queue.writeBuffer(buffer, 0, floats(count));
  return fromGPUBuffer(buffer, { device, dtype: 'float32', shape: [1, count], release: () => buffer.destroy() });
}

const square = async (x: OrtTensor) => fromOnnxRuntime((await session.run({ x })).y as never, { gpuDevice });

test('1. ONNX Runtime reads vectors of 16 bytes: shorter buffers are copied into longer ones', async () => {
  for (const count of [1, 4, 5]) {
    const x = exact(count);
    const input = toOrt(x);
    equal(input.gpuBuffer === gpuMemoryOf(x).buffer, count === 4, `${count} shared`);
    ok(input.gpuBuffer.size % 16 === 0);
    equal(await values(await square(input)), [[...floats(count)].map((v) => v * v)]);
    input.dispose();
  }
  throws('BufferError', '32 bytes', () => toOrt(exact(5), { copy: false }));
});

test('2. ONNX Runtime pads its outputs: TensorFlow.js gets a copy without the padding', async () => {
  const { y } = await session.run({ x: toOrt(exact(5)) });
  ok(y.gpuBuffer.size > 20, `${y.gpuBuffer.size} bytes`);
  const out = fromOnnxRuntime(y as never, { gpuDevice });
  const t = toTf(out);
  equal([...(await t.data())], [1, 4, 9, 16, 25]);
  throws('BufferError', 'TensorFlow.js', () => toTf(out, { copy: false }));
});

test('3. a tensor on another GPUDevice is refused before a library sees it', () => {
  const x = Tensor.from([[1, 2, 3, 4]], { dtype: 'float32' }).to(other);
  const names = [x.device, exact(4).device];
  const actions = [() => toTf(x), () => toOrt(x, { gpuDevice }), () => toJaxJs(x, jax.numpy as never, { gpuDevice })];
  for (const action of actions) {
    const { message } = throws('UnsupportedDeviceError', 'stage: true', action);
    ok(
      names.every((name) => message.includes(name)),
      message,
    );
  }
  throws('TypeError', 'getWebGPUDevice', () => toJaxJs(x, jax.numpy as never));
});

test('4. a failed run can spoil an ONNX Runtime session: tensors that would fail are refused first, and the session still works', async () => {
  throws('UnsupportedDeviceError', 'ONNX Runtime', () =>
    toOrt(Tensor.zeros([3, 3], 'float32', { device: other }), { gpuDevice }),
  );
  const out = await square(toOrt(exact(4)));
  equal([out.shape, await values(out)], [[1, 4], [[1, 4, 9, 16]]]);
});

test('5. libraries reuse the buffers of disposed tensors: ours hold the owner', async () => {
  const a = jax.numpy.array(floats(8)).add(0);
  const fromJax = fromJaxJs(a, { gpuDevice });
  a.dispose();
  const sum = tf.add(tf.tensor(floats(8)), 0);
  const fromTf = fromTensorFlow(sum as never, { backend: tf.backend() });
  sum.dispose();
  let inTidy = fromTf;
  tf.tidy(() => {
    inTidy = fromTensorFlow(tf.add(tf.tensor(floats(8)), 1) as never, { backend: tf.backend() });
    return tf.tensor(0);
  });
  const fromOrt = await square(toOrt(exact(8)));
  // New results of the same size would get a buffer that its owner has released.
  for (let i = 0; i < 4; i++) {
    await jax.numpy.array(new Float32Array(8)).add(-1).data();
    await tf.add(tf.tensor(new Float32Array(8)), -1).data();
    (await session.run({ x: toOrt(Tensor.zeros([1, 8], 'float32', { device })) })).y.dispose();
  }
  equal(await values(fromJax), [...floats(8)]);
  equal(await values(fromTf), [...floats(8)]);
  equal(
    await values(inTidy),
    [...floats(8)].map((v) => v + 1),
  );
  equal(await values(fromOrt), [[...floats(8)].map((v) => v * v)]);
});

test('6. TensorFlow.js keeps the result of data(): operations see later writes, data() does not', async () => {
  const x = exact(4);
  const t = toTf(x);
  equal([...(await t.data())], [1, 2, 3, 4]);
  x.fill(9);
  equal([...(await tf.add(t, 0).data())], [9, 9, 9, 9]);
  equal([...(await t.data())], [1, 2, 3, 4]);
});

test('7. no library takes an offset: a part of a tensor is copied', async () => {
  const x = Tensor.from(floats(12), { shape: [3, 4] }).to(device);
  const row = x.slice([1, 2]);
  equal(await values(await square(toOrt(row))), [[25, 36, 49, 64]]);
  equal([...(await tf.add(toTf(row), 0).data())], [5, 6, 7, 8]);
  const column = x.slice(null, [1, 2]);
  const made = toJaxJs(column, jax.numpy as never, { gpuDevice }) as never as { data(): Promise<Float32Array> };
  equal([...(await made.data())], [2, 6, 10]);
  for (const to of [toOrt, toTf]) throws('BufferError', 'start of a GPUBuffer', () => to(row, { copy: false }));
});

test('WebGPU reported no error', async () => {
  await device.queue.onSubmittedWorkDone();
  equal(uncaptured, []);
});
