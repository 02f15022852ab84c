/** GPU tensors of libraries with a GPUDevice that records its work: the options that share, copy and release. */

import 'dlpack/webgpu';
import { Tensor } from 'dlpack';
import {
  fromJaxJs,
  fromLiteRT,
  fromOnnxRuntime,
  fromTensorFlow,
  toJaxJs,
  toLiteRT,
  toOnnxRuntime,
  toTensorFlow,
  toTransformers,
} from 'dlpack/adapters';
import { leaks, liveCounts, setDebug } from 'dlpack/debug';
import { fromGPUBuffer, gpuMemoryOf } from 'dlpack/webgpu';
import { equal, ok, throws } from '../assert.js';
import { test } from '../harness.js';

const USAGE = 128 | 8 | 4;

/** Makes buffers and accepts copies. */
function recorder() {
  const copies: object[] = [];
  const gpuDevice = {
    queue: { submit() {} },
    lost: new Promise<never>(() => {}),
    limits: {
      maxBufferSize: 2 ** 28,
      maxStorageBufferBindingSize: 2 ** 27,
      maxComputeWorkgroupsPerDimension: 65535,
      maxComputeInvocationsPerWorkgroup: 256,
    },
    createBuffer: ({ size, usage }: { size: number; usage: number }) => ({ size, usage, destroy() {} }),
    createCommandEncoder: () => ({ copyBufferToBuffer: (from: object) => void copies.push(from), finish: () => ({}) }),
  };
  return { gpuDevice, copies };
}

test("copy: true copies GPU tensors on the device, and the caller keeps the library's object", () => {
  const { gpuDevice, copies } = recorder();
  const gpuBuffer = { size: 16, usage: USAGE };
  let released = 0;
  const release = () => void released++;
  const onnx = { type: 'float32', dims: [4], location: 'gpu-buffer', data: null, gpuBuffer, dispose: release };
  const litert = {
    type: { dtype: 'float32', layout: { dimensions: [4] } },
    accelerator: 'webgpu',
    toTypedArray: () => null,
    toGpuBuffer: () => gpuBuffer,
    delete: release,
  };
  const options = { gpuDevice, copy: true };
  for (const make of [() => fromOnnxRuntime(onnx, options), () => fromLiteRT(litert, options)]) {
    const x = make();
    ok(gpuMemoryOf(x).buffer !== gpuBuffer);
    x.dispose();
  }
  equal([copies.length, copies[0] === gpuBuffer, released], [2, true, 0]);

  const jax = {
    shape: [4],
    dtype: 'float32',
    device: 'webgpu',
    refCount: 1,
    dataSync: () => null,
    get ref() {
      return { gpuBufferSync: () => gpuBuffer, dispose: release };
    },
  };
  const tensorflow = {
    shape: [4],
    dtype: 'float32',
    dataId: {},
    dataSync: () => null,
    clone: () => ({ kept: false, dispose: release }),
  };
  const backend = {
    device: gpuDevice,
    commandEncoder: null,
    tensorMap: { get: () => ({ resource: gpuBuffer }) },
    submitQueue() {},
  };
  ok(gpuMemoryOf(fromJaxJs(jax as never, options)).buffer !== gpuBuffer);
  ok(gpuMemoryOf(fromTensorFlow(tensorflow, { backend, copy: true })).buffer !== gpuBuffer);
  equal([copies.length, released], [4, 2]); // the references that the adapters took
});

test('a leak report of the process names GPU tensors of libraries, too', () => {
  const { gpuDevice } = recorder();
  const gpuBuffer = { size: 16, usage: USAGE };
  const onnx = { type: 'float32', dims: [4], location: 'gpu-buffer', data: null, gpuBuffer, dispose() {} };
  const buffers = () => leaks().filter(({ kind }) => kind === 'gpu-buffer');
  setDebug(true);
  try {
    const x = fromOnnxRuntime(onnx, { gpuDevice });
    equal(buffers().length, 1);
    ok(/gpu\.test\.[jt]s:\d+/.test(buffers()[0]?.stack ?? ''), buffers()[0]?.stack);
    x.dispose();
    equal(buffers(), []);
  } finally {
    setDebug(false);
  }
});

test('a read-only GPU tensor is copied for a library, or refused', () => {
  const { gpuDevice, copies } = recorder();
  const buffer = { size: 16, usage: USAGE };
  const x = fromGPUBuffer(buffer, { device: gpuDevice, dtype: 'float32', shape: [4], readonly: true });
  const ort = { Tensor: class {} as never as { new (type: never, data: never, dims: never): { gpuBuffer: object } } };
  Object.assign(ort.Tensor, { fromGpuBuffer: (gpuBuffer: object) => ({ gpuBuffer }) });
  ok(toOnnxRuntime(x, ort).gpuBuffer !== buffer);
  equal(copies.length, 1);
  throws('BufferError', 'writable', () => toOnnxRuntime(x, ort, { copy: false }));
});

test('an error during a copy for a library releases the buffer of the copy', () => {
  const { gpuDevice } = recorder();
  let [made, destroyed] = [0, 0];
  const buffer = { size: 20, usage: USAGE, destroy: () => void destroyed++ };
  const x = fromGPUBuffer({ size: 20, usage: USAGE }, { device: gpuDevice, dtype: 'float32', shape: [5] });
  const failing = () => {
    throw new Error('no encoder');
  };
  const createBuffer = () => {
    made++;
    return buffer;
  };
  Object.assign(gpuDevice, { createBuffer, createCommandEncoder: failing });
  const before = liveCounts();
  const isRefused = (copy: () => unknown) => {
    try {
      copy();
      return false;
    } catch (error) {
      return String(error).includes('no encoder');
    }
  };
  ok(isRefused(() => toLiteRT(x, { Tensor: class {} }, { copy: true })));
  equal([made, destroyed, liveCounts()], [1, 1, before]);
  const bufferManager = { acquireBuffer: createBuffer, releaseBuffer: () => void destroyed++ };
  const tf = { backend: () => ({ device: gpuDevice, bufferManager }), tensor: () => null };
  ok(isRefused(() => toTensorFlow(x, tf, { copy: true })));
  equal([made, destroyed, liveCounts()], [2, 2, before]);
});

test('a dtype that a library does not have on WebGPU is refused, and the reference to its tensor is dropped', () => {
  const { gpuDevice } = recorder();
  let [held, dropped] = [0, 0];
  const clone = () => {
    held++;
    return { dispose: () => void dropped++ };
  };
  const value = { dataId: {}, dtype: 'bool', shape: [4], dataSync: () => null, clone };
  const backend = { device: gpuDevice, submitQueue() {} };
  throws('UnsupportedDTypeError', 'of DLPack on WebGPU (float32 int32)', () => fromTensorFlow(value, { backend }));
  equal(dropped, held);
  const x = Tensor.empty([4], 'bool', { device: gpuDevice });
  const tf = { backend: () => backend, tensor: () => null };
  throws('UnsupportedDTypeError', 'of TensorFlow.js on WebGPU (float32 int32)', () => toTensorFlow(x, tf));
  throws('UnsupportedDTypeError', 'of jax-js on WebGPU (float32 int32 uint32)', () =>
    toJaxJs(x, { array: () => null }, { gpuDevice }),
  );
  throws('TypeError', 'jax.getWebGPUDevice() for gpuDevice', () => toJaxJs(x, { array: () => null }));
});

test('a tensor on a lost device is not lent to a library', async () => {
  const { gpuDevice } = recorder();
  let lose = (_: object): void => {};
  const lost = new Promise<never>((resolve) => {
    lose = resolve as never;
  });
  Object.assign(gpuDevice, { lost });
  const x = Tensor.empty([4], 'float32', { device: gpuDevice });
  const ort = { Tensor: Object.assign(class {}, { fromGpuBuffer: () => ({}) }) };
  toOnnxRuntime(x, ort as never);
  lose({ reason: 'destroyed' });
  await lost;
  throws('DeviceLostError', 'destroyed', () => toOnnxRuntime(x, ort as never));
  throws('DeviceLostError', 'destroyed', () => toLiteRT(x, { Tensor: class {} }));
  x.dispose();
});

test('a class that takes no GPUBuffers is refused, and the tensor keeps its buffer', () => {
  const { gpuDevice } = recorder();
  const x = Tensor.empty([4], 'float32', { device: gpuDevice });
  throws('BufferError', 'toOnnxRuntime', () => toTransformers(x, { Tensor: class {} }));
  ok(gpuMemoryOf(x).buffer.size === 16);
});

test('a GPU tensor becomes a transformers.js tensor with a tensor of its own ONNX Runtime', () => {
  const inner = {
    constructor: { fromGpuBuffer: (gpuBuffer: object, { dims }: { dims: number[] }) => ({ gpuBuffer, dims }) },
  };
  class Made {
    ort_tensor: { gpuBuffer?: object; dims?: number[] } = inner as object;
  }
  const x = Tensor.empty([4], 'float32', { device: recorder().gpuDevice });
  const { ort_tensor: made } = toTransformers(x, { Tensor: Made });
  equal([made.gpuBuffer === gpuMemoryOf(x).buffer, made.dims], [true, [4]]);
});

test('jax-js: the new array uploads its values once, and then the tensor is copied into it', () => {
  const { gpuDevice, copies } = recorder();
  const queue = Object.freeze({
    submit() {},
    writeBuffer: (_buffer: object, _offset: number, data: ArrayBufferView) => void written.push(data.byteLength),
  });
  const written: number[] = [];
  Object.assign(gpuDevice, { queue });
  const gpuBuffer = { size: 16, usage: USAGE };
  const made = {
    shape: [4],
    dtype: 'float32',
    device: 'webgpu',
    refCount: 1,
    get ref() {
      return { gpuBufferSync: () => gpuBuffer, dispose() {} };
    },
    dispose() {},
  };
  const numpy = {
    array: (values: ArrayBufferView) => {
      queue.writeBuffer(gpuBuffer, 0, values);
      return made;
    },
  };
  const x = Tensor.empty([4], 'float32', { device: gpuDevice });
  ok((toJaxJs(x, numpy as never, { gpuDevice }) as object) === made);
  equal([written, copies.length], [[16], 1]);
});
