/** transformers.js in a page: tensors, and a model made in the test, on WebAssembly and on WebGPU. */

import { Tensor } from 'dlpack';
import {
  adapt,
  fromJaxJs,
  fromTransformers,
  type OnnxModule,
  type TransformersTensor,
  toTensorFlow,
  toTransformers,
} from 'dlpack/adapters';
import { gpuMemoryOf } from 'dlpack/webgpu';
import { equal, ok } from '../../assert.js';
import { test } from '../../harness.js';
import { makeModel } from '../../interop/libraries/model.js';
import { uncaptured } from '../../webgpu/device.js';
import { loadLibraries, type OrtTensor } from './load.js';

interface PageTensor extends TransformersTensor {
  readonly ort_tensor: OrtTensor;
  readonly data: Float32Array;
  mul_(factor: number): PageTensor;
  tolist(): number[][];
  dispose(): void;
}
type Model = (inputs: { x: PageTensor }) => Promise<{ y: PageTensor }>;
interface Transformers extends OnnxModule<PageTensor> {
  readonly env: {
    allowRemoteModels: boolean;
    allowLocalModels: boolean;
    localModelPath: string;
    useBrowserCache: boolean;
    useWasmCache: boolean;
    fetch: (url: string | URL) => Promise<Response>;
    readonly backends: { readonly onnx: { readonly wasm: { wasmPaths: unknown; numThreads: number } } };
  };
  readonly AutoModel: { from_pretrained(name: string, options: object): Promise<Model> };
}

const { jax, tf, ort, device } = await loadLibraries();
const gpuDevice = device;
const transformers = (await import('@huggingface/transformers' as string)) as Transformers;
const { env } = transformers;
(ort.env.wasm as { wasmPaths?: unknown }).wasmPaths = undefined; // it names a CDN; the files are beside the module
ort.env.wasm.numThreads = 1;
env.allowRemoteModels = false;
env.allowLocalModels = true;
env.localModelPath = '/models/';
env.useBrowserCache = false;
env.useWasmCache = false;
const served: Record<string, BodyInit> = {
  '/models/square/config.json': JSON.stringify({ model_type: 'custom', architectures: [] }),
  '/models/square/onnx/model.onnx': makeModel('Mul', 2, 'float32') as Uint8Array<ArrayBuffer>,
};
env.fetch = async (url) => {
  const file = served[new URL(url, location.href).pathname];
  return file === undefined ? new Response(null, { status: 404 }) : new Response(file);
};

const rows = () => Tensor.from([[1, 2, 3, 4], [5, 6, 7, 8]], { dtype: 'float32' }); // biome-ignore format: a table
const squares = [[1, 4, 9, 16], [25, 36, 49, 64]]; // biome-ignore format: a table

test('tensors: one memory in both directions', () => {
  const x = rows();
  const t = toTransformers(x, transformers, { copy: false });
  t.mul_(10);
  equal([x.get(1, 3), t.tolist()[0]], [80, [10, 20, 30, 40]]);
  const back = adapt(t, { copy: false });
  x.set(0, 0, -1);
  equal(back.get(0, 0), -1);
});

test('a model on WebAssembly reads our memory, and its result is shared', async () => {
  const model = await transformers.AutoModel.from_pretrained('square', { dtype: 'fp32', device: 'wasm' });
  const { y } = await model({ x: toTransformers(rows(), transformers) });
  const out = fromTransformers(y, { copy: false });
  equal(out.toArray(), squares);
  y.data[0] = 100;
  equal(out.get(0, 0), 100);
});

test('a model on WebGPU takes a tensor of jax-js, and TensorFlow.js takes its result', async () => {
  const model = await transformers.AutoModel.from_pretrained('square', {
    dtype: 'fp32',
    device: 'webgpu',
    session_options: {
      executionProviders: [{ name: 'webgpu', device }],
      preferredOutputLocation: 'gpu-buffer',
    },
  });
  const a = jax.numpy.array(new Float32Array([1, 2, 3, 4, 5, 6, 7, 8]), { shape: [2, 4] }).mul(1);
  const x = fromJaxJs(a, { gpuDevice });
  const input = toTransformers(x, transformers, { copy: false, gpuDevice });
  ok(input.ort_tensor.gpuBuffer === gpuMemoryOf(x).buffer);
  x.slice(0).fill(3); // after the exchange
  const { y } = await model({ x: input });
  let disposed = 0;
  const { dispose } = y.ort_tensor;
  Object.defineProperty(y.ort_tensor, 'dispose', { value: () => { disposed++; dispose.call(y.ort_tensor); } }); // biome-ignore format: one line
  const out = fromTransformers(y, { gpuDevice, copy: false });
  const t = toTensorFlow(out, tf as never) as never as Parameters<typeof tf.add>[0];
  equal([...(await tf.add(t, 1).data())], [10, 10, 10, 10, 26, 37, 50, 65]);
  out.dispose();
  out.dispose();
  equal(disposed, 1);
  input.dispose();
  a.dispose();
});

test('WebGPU reported no error', async () => {
  await device.queue.onSubmittedWorkDone();
  equal(uncaptured, []);
});
