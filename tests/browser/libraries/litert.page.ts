/** LiteRT.js on WebGPU: GPU tensors go in and out without a copy, and its `delete` releases them. */

import { fromDLPack, Tensor } from 'dlpack';
import { fromLiteRT, toLiteRT } from 'dlpack/adapters';
import { gpuMemoryOf } from 'dlpack/webgpu';
import { equal, ok, throws } from '../../assert.js';
import { test } from '../../harness.js';
import { makeProduct } from '../../interop/libraries/tflite.js';
import { newDevice, type TestDevice, uncaptured } from '../../webgpu/device.js';

interface LiteRTTensor {
  readonly accelerator: string;
  toGpuBuffer(): object;
  delete(): void;
}
interface LiteRT {
  loadLiteRt(path: string): Promise<unknown>;
  setWebGpuDevice(device: object): void;
  loadAndCompile(
    model: Uint8Array,
    options: object,
  ): Promise<{
    run(inputs: LiteRTTensor[]): Promise<LiteRTTensor[]>;
    readonly isFullyAccelerated: boolean;
    delete(): void;
  }>;
  readonly Tensor: new (...parts: never[]) => LiteRTTensor;
}

const from = (path: string): Promise<unknown> => import(path);
const litert = (await from('/build/browser/litert.js')) as LiteRT;
await litert.loadLiteRt('/.libraries/node_modules/@litertjs/core/wasm/');
const device = (await newDevice('litert')) as TestDevice;
litert.setWebGpuDevice(device);
const gpuDevice = device;

test('a tensor goes to LiteRT.js and back as one buffer, with writes seen, and is released once', async () => {
  const x = Tensor.from([[1, 2, 3, 4]], { dtype: 'float32' }).to(device);
  const given = toLiteRT(x, litert as never, { copy: false, gpuDevice }) as never as LiteRTTensor;
  ok(given.toGpuBuffer() === gpuMemoryOf(x).buffer);
  const watched = fromDLPack(x);
  x.dispose();
  const back = fromLiteRT(given as never, { gpuDevice });
  ok(gpuMemoryOf(back).buffer === gpuMemoryOf(watched).buffer);
  watched.fill(6);
  equal((await back.toAsync('cpu')).toArray(), [[6, 6, 6, 6]]);
  watched.dispose();
  equal((await back.toAsync('cpu')).toArray(), [[6, 6, 6, 6]]); // LiteRT.js still holds the memory
  let deleted = 0;
  const { delete: end } = given;
  Object.defineProperty(given, 'delete', { value: () => { deleted++; end.call(given); } }); // biome-ignore format: one line
  back.dispose();
  back.dispose();
  equal(deleted, 1);
});

test('a part of a tensor is copied, and another GPUDevice is refused', async () => {
  const x = Tensor.from([[1, 2], [3, 4]], { dtype: 'float32' }).to(device); // biome-ignore format: a table
  const column = toLiteRT(x.slice(null, [1, 2]), litert as never) as never as LiteRTTensor;
  equal((await fromLiteRT(column as never, { gpuDevice }).toAsync('cpu')).toArray(), [[2], [4]]);
  const other = (await newDevice('other')) as TestDevice;
  const there = Tensor.zeros([2], 'float32', { device: other });
  throws('UnsupportedDeviceError', 'LiteRT.js', () => toLiteRT(there, litert as never, { gpuDevice }));
});

for (const accelerator of ['wasm', 'webgpu']) {
  test(`a model on ${accelerator} reads our tensors, and its result becomes ours`, async () => {
    const model = await litert.loadAndCompile(makeProduct([2, 4]), { accelerator });
    equal(model.isFullyAccelerated, true);
    const x = Tensor.from([[1, 2, 3, 4], [5, 6, 7, 8]], { dtype: 'float32' }); // biome-ignore format: a table
    const y = accelerator === 'webgpu' ? x.to(device) : x;
    const inputs = [y, y].map((t) => toLiteRT(t, litert as never, { gpuDevice }) as never as LiteRTTensor);
    if (accelerator === 'webgpu') y.slice(0).fill(3); // after the exchange
    const [result] = (await model.run(inputs)) as [LiteRTTensor];
    equal(result.accelerator, accelerator);
    const out = fromLiteRT(result as never, { gpuDevice });
    const first = accelerator === 'webgpu' ? [9, 9, 9, 9] : [1, 4, 9, 16];
    equal((await out.toAsync('cpu')).toArray(), [first, [25, 36, 49, 64]]);
    out.dispose();
    for (const input of inputs) input.delete();
    model.delete();
  });
}

test('WebGPU reported no error', async () => {
  await device.queue.onSubmittedWorkDone();
  equal(uncaptured, []);
});
