/** Buffers of TypeGPU and tensors over one GPUBuffer. */

import { Tensor } from 'dlpack';
import { fromTypeGPU, toTypeGPU } from 'dlpack/adapters';
import { gpuMemoryOf } from 'dlpack/webgpu';
import { equal, ok, throws } from '../assert.js';
import { testWith } from '../harness.js';
import { newDevice, noAdapter, type TestDevice, uncaptured } from './device.js';

// biome-ignore lint/suspicious/noExplicitAny: a test of values needs no types of the library
type Library = any;

const from = (path: string): Promise<Library> =>
  import(new URL(`../../../.libraries/node_modules/typegpu/${path}.js`, import.meta.url).href);
const found = await newDevice();
const missing = found === null ? noAdapter : false;
const device = found as TestDevice;
const { default: tgpu } = await from('index');
const d = await from('data/index');
const gpuDevice = device;

const values = async (x: Tensor): Promise<unknown> => (await x.toAsync('cpu')).toArray();

testWith(missing, 'TypeGPU: a buffer and a tensor share a GPUBuffer, in both directions', async () => {
  const root = tgpu.initFromDevice({ device });
  const buffer = root.createBuffer(d.arrayOf(d.arrayOf(d.f32, 3), 2)).$usage('storage');
  const x = fromTypeGPU(buffer, { gpuDevice, copy: false });
  equal([x.dtype, x.shape], ['float32', [2, 3]]);
  ok(gpuMemoryOf(x).buffer === root.unwrap(buffer));
  x.fill(4);
  equal(await values(x), [[4, 4, 4], [4, 4, 4]]); // biome-ignore format: a table
  const made: Library = toTypeGPU(x, { root, d }, { copy: false });
  ok(root.unwrap(made) === gpuMemoryOf(x).buffer);
  equal([made.dataType.elementCount, made.dataType.elementType.elementType.type], [2, 'f32']);
  const vectors = root.createBuffer(d.arrayOf(d.vec3f, 2)).$usage('storage');
  device.queue.writeBuffer(root.unwrap(vectors), 0, Float32Array.of(1, 2, 3, 9, 4, 5, 6, 9));
  const y = fromTypeGPU(vectors, { gpuDevice });
  equal([y.shape, y.strides, await values(y)], [[2, 3], [4, 1], [[1, 2, 3], [4, 5, 6]]]); // biome-ignore format: a table
  equal(fromTypeGPU(root.createBuffer(d.arrayOf(d.vec2u, 5)), { gpuDevice }).shape, [5, 2]);
  equal(fromTypeGPU(root.createBuffer(d.vec3f).$usage('storage'), { gpuDevice }).shape, [3]);
  throws('UnsupportedDTypeError', 'mat4x4f', () => fromTypeGPU(root.createBuffer(d.mat4x4f), { gpuDevice }));
  throws('UnsupportedDeviceError', 'x.to(root.device)', () => toTypeGPU(Tensor.zeros([2], 'float32'), { root, d }));
  throws('UnsupportedDTypeError', 'float64', () => toTypeGPU(Tensor.zeros([2], 'float64', { device }), { root, d }));
  throws('TypeError', 'toTypeGPU(x, { root, d })', () => toTypeGPU(x, {} as never));
  await device.queue.onSubmittedWorkDone();
  equal(uncaptured, []);
});
