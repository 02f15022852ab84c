/** In a page: GPU tensors of 16 MiB from one library to another, against their own download and upload. */

import { fromJaxJs, fromOnnxRuntime, fromTensorFlow, toJaxJs, toOnnxRuntime, toTensorFlow } from 'dlpack/adapters';
import 'dlpack/webgpu';
import { loadLibraries, makeSession, type TfTensor } from '../../tests/browser/libraries/load.js';
import { finish, leastOf } from './timing.js';

const { jax, tf, ort, device } = await loadLibraries();
const gpuDevice = device;
const session = await makeSession(ort, device);
const backend = tf.backend();
const shape = [2048, 2048];
const values = Float32Array.from({ length: 2048 * 2048 }, (_, i) => i % 1000);
const idle = () => device.queue.onSubmittedWorkDone();

const a = jax.numpy.array(values, { shape }).add(1);
const jaxTensor = fromJaxJs(a, { gpuDevice });
const t = tf.add(tf.tensor(values, shape), 1);
const tfTensor = fromTensorFlow(t as never, { backend });
const { y } = await session.run({ x: toOnnxRuntime(jaxTensor, ort as never) as never });
const ortTensor = fromOnnxRuntime(y as never, { gpuDevice });
await idle();

/** A new result of TensorFlow.js, because a tensor keeps what it once downloaded. */
async function freshTf(): Promise<TfTensor> {
  const fresh = tf.add(t, 0);
  fromTensorFlow(fresh as never, { backend }).dispose(); // submits the work
  await idle();
  return fresh;
}
const upload = (made: TfTensor) => (backend as never as { uploadToGPU(id: object): void }).uploadToGPU(made.dataId);

const rows: Record<string, number> = {};
const shared = async (name: string, run: () => { dispose(): void }) => {
  rows[name] = await leastOf(15, () => {
    for (let i = 0; i < 200; i++) run().dispose();
  });
  rows[name] = (rows[name] as number) / 200;
};
await shared('jax-js to TensorFlow.js: shared', () => {
  const x = fromJaxJs(a, { gpuDevice });
  const made = toTensorFlow(x, tf as never, { copy: false }) as never as TfTensor;
  x.dispose();
  return made;
});
await shared('TensorFlow.js to ONNX Runtime: shared', () => {
  const x = fromTensorFlow(t as never, { backend });
  const made = toOnnxRuntime(x, ort as never, { copy: false }) as never as { dispose(): void };
  x.dispose();
  return made;
});
await shared('jax-js to ONNX Runtime: shared', () => {
  const x = fromJaxJs(a, { gpuDevice });
  const made = toOnnxRuntime(x, ort as never, { copy: false }) as never as { dispose(): void };
  x.dispose();
  return made;
});
rows['ONNX Runtime to TensorFlow.js: one GPU copy'] = await leastOf(15, async () => {
  const made = toTensorFlow(ortTensor, tf as never, { copy: true }) as never as TfTensor;
  await idle();
  made.dispose();
});
rows['TensorFlow.js to jax-js: one GPU copy'] = await leastOf(15, async () => {
  const made = toJaxJs(tfTensor, jax.numpy as never, { gpuDevice }) as never as { dispose(): void };
  await idle();
  made.dispose();
});

rows['jax-js to TensorFlow.js: download and upload'] = await leastOf(15, async () => {
  const made = tf.tensor(await a.ref.data(), shape);
  upload(made);
  await idle();
  made.dispose();
});
rows['TensorFlow.js to jax-js: download and upload'] = await leastOf(
  15,
  async (fresh) => {
    const made = jax.numpy.array(await fresh.data(), { shape });
    await idle();
    made.dispose();
    fresh.dispose();
  },
  freshTf,
);
rows['TensorFlow.js to ONNX Runtime: download, upload and a run'] = await leastOf(
  15,
  async (fresh) => {
    const x = new ort.Tensor('float32', await fresh.data(), shape);
    const result = await session.run({ x });
    await idle();
    result.y.dispose();
    fresh.dispose();
  },
  freshTf,
);
rows['TensorFlow.js to ONNX Runtime: shared, and a run'] = await leastOf(
  15,
  async (fresh) => {
    const owner = fromTensorFlow(fresh as never, { backend });
    const x = toOnnxRuntime(owner, ort as never) as never as { dispose(): void };
    const result = await session.run({ x: x as never });
    await idle();
    for (const tensor of [result.y, x, owner, fresh]) tensor.dispose();
  },
  freshTf,
);
finish({ rows, adapter: device.adapterInfo as never, agent: navigator.userAgent });
