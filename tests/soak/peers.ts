/** One exchange with each peer. Every exchange checks the values that come back and disposes its tensors. */

import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { type DLPackSource, fromDLPack, Tensor, type TypedArray } from 'dlpack';
import { loadDriver } from 'dlpack/cuda';
import { openSafetensorsSync, writeSafetensors } from 'dlpack/files';
import { exportManaged, importManaged } from 'dlpack/native';
import { loadSession } from 'dlpack/onnxruntime';
import { python } from 'dlpack/python';
import { describeTensor, openTensor, shareTensor } from 'dlpack/shared';
import { getGlobalFunc, List, loadModule, registerObject } from 'dlpack/tvm-ffi';
import { fake, fakeDriverPath } from '../cuda/fake.js';
import { makeModel } from '../interop/libraries/model.js';

interface OrtTensor {
  readonly data: TypedArray;
}
interface OnnxRuntime {
  Tensor: new (type: string, data: TypedArray, dims: readonly number[]) => OrtTensor;
  InferenceSession: {
    create(model: Uint8Array): Promise<{ run(feeds: { x: OrtTensor }): Promise<{ y: OrtTensor }> }>;
  };
}

export const py = python();
const [np, torch, jax, arrow] = [py.import('numpy'), py.import('torch'), py.import('jax.numpy'), py.import('pyarrow')];
const builtins = py.import('builtins');
const kernels = loadModule(fileURLToPath(new URL('../../kernels/kernels.so', import.meta.url)));
py.exec('import asyncio\nasync def add_later(x):\n    await asyncio.sleep(0)\n    return x + 1');
const addLater = py.eval('add_later');
class Holder {
  value = 0;
}
registerObject('dlpack.soak.Holder', Holder, { fields: ['value'] });
const libraries = fileURLToPath(new URL('../../../.libraries/package.json', import.meta.url));
const ort = createRequire(libraries)('onnxruntime-node') as OnnxRuntime;
const identity = makeModel('Identity', 1, 'float32');
const session = await ort.InferenceSession.create(identity);
const model = await loadSession(identity);
fake.configure({ queriesRun: true });
loadDriver({ path: fakeDriverPath });

const startWorker = (): Worker => new Worker(new URL('./worker.js', import.meta.url));
const worker = startWorker();
const file = join(mkdtempSync(join(tmpdir(), 'dlpack-soak-')), 'x.safetensors');

/** A tensor whose every element is `value`. */
const filled = (value: number): Tensor<'float32'> => Tensor.zeros([64, 64], 'float32').fill(value);

function expect(tensor: { get(...index: number[]): unknown }, value: number): void {
  if (tensor.get(63, 63) !== value) throw new Error(`expected ${value} but received ${String(tensor.get(63, 63))}`);
}

async function addOneIn(thread: Worker, x: Tensor): Promise<void> {
  const answer = once(thread, 'message'); // rejects when the worker fails
  thread.postMessage(shareTensor(x));
  await answer;
}

export type Exchange = (value: number) => void | Promise<void>;

/** The number of rounds from one slow exchange to the next. */
export const slowEvery = 50;

/** The exchanges of every round. */
export const peers: Record<string, Exchange> = {
  'C, by address'(value) {
    using x = filled(value);
    using y = importManaged(exportManaged(x));
    expect(y, value);
  },
  NumPy(value) {
    using x = filled(value);
    using y = fromDLPack(np.add(np.from_dlpack(x), 1));
    expect(y, value + 1);
  },
  PyTorch(value) {
    using x = filled(value);
    using y = fromDLPack(torch.add(torch.from_dlpack(x), 1));
    expect(y, value + 1);
  },
  JAX(value) {
    using x = filled(value);
    using y = fromDLPack(jax.add(jax.from_dlpack(x), 1));
    expect(y, value + 1);
  },
  pyarrow(value) {
    using x = filled(value);
    using y = fromDLPack(arrow.array(np.from_dlpack(x.reshape([4096]))));
    if (y.get(4095) !== value) throw new Error(`expected ${value} but received ${String(y.get(4095))}`);
  },
  async 'PyTorch, on another thread'(value) {
    using x = filled(value);
    using y = fromDLPack((await py.callAsync(torch.add, torch.from_dlpack(x), 1)) as DLPackSource);
    expect(y, value + 1);
  },
  async 'a Python coroutine'(value) {
    using x = filled(value);
    using y = fromDLPack((await py.async(addLater(np.from_dlpack(x)))) as DLPackSource);
    expect(y, value + 1);
  },
  'a JavaScript function that Python calls'(value) {
    const numbers = builtins.map((element: number) => element + 1, builtins.range(value, value + 10));
    using y = fromDLPack(np.fromiter(numbers, 'float32'));
    if (y.get(9) !== value + 10) throw new Error(`expected ${value + 10} but received ${String(y.get(9))}`);
  },
  'a TVM-FFI kernel'(value) {
    using x = filled(value).reshape([4096]);
    using y = Tensor.zeros([4096], 'float32');
    (kernels.add_one as (...tensors: Tensor[]) => void)(x, y);
    if (y.get(4095) !== value + 1) throw new Error('the kernel computed something else');
  },
  'a TVM-FFI list of a tensor and a JavaScript object'(value) {
    using x = filled(value);
    const holder = Object.assign(new Holder(), { value });
    const list = new List<unknown>([x]);
    list.push(holder);
    using y = list.at(0) as Tensor;
    expect(y, value);
    const text = getGlobalFunc('ffi.ReprPrint')(list.at(1));
    if (text !== `dlpack.soak.Holder(value=${value})`) throw new Error(`received ${String(text)}`);
    list.clear();
  },
  async 'ONNX Runtime'(value) {
    using x = filled(value);
    for (const { y } of [await model.run({ x }), model.runSync({ x })]) {
      using result = y as Tensor;
      expect(result, value);
    }
  },
  async 'onnxruntime-node'(value) {
    using x = filled(value);
    const { y } = await session.run({ x: new ort.Tensor('float32', x.data, x.shape) });
    using result = Tensor.adopt(y.data, { dtype: 'float32', shape: [64, 64] });
    expect(result, value);
  },
  'CUDA, with the driver of the tests'(value) {
    using x = filled(value);
    using there = x.to('cuda:0');
    using back = there.to('cpu');
    expect(back, value);
  },
  async 'a worker'(value) {
    using x = filled(value);
    await addOneIn(worker, x);
    expect(x, value + 1);
  },
  'shared host memory, opened by its description'(value) {
    using x = Tensor.empty([64, 64], 'float32', { shareable: true });
    x.fill(value);
    using y = openTensor(describeTensor(x));
    expect(y, value);
  },
  'a cast, left to the collector'(value) {
    expect(filled(value).astype('float16').astype('float32'), value);
  },
};

/** The exchanges of every `slowEvery`th round. */
export const slowPeers: Record<string, Exchange> = {
  async 'a worker that starts, answers and is terminated'(value) {
    const other = startWorker();
    using x = filled(value);
    await addOneIn(other, x);
    expect(x, value + 1);
    const token = shareTensor(x);
    other.postMessage(token); // read, being read or unread when the worker ends
    await other.terminate();
    token.revoke();
  },
  async 'a model that is loaded, runs and is disposed'(value) {
    using other = await loadSession(identity);
    using x = filled(value);
    using y = (await other.run({ x })).y as Tensor;
    expect(y, value);
  },
  async 'a safetensors file, written and mapped'(value) {
    using x = filled(value);
    await writeSafetensors(file, { x });
    using opened = openSafetensorsSync(file);
    using y = opened.get('x');
    expect(y, value);
  },
};

export const endPeers = (): Promise<number> => {
  model.dispose();
  return worker.terminate();
};
