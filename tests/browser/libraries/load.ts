/** The libraries as a page loads them, all on the GPUDevice of jax-js, which cannot use another device. */

import { makeModel } from '../../interop/libraries/model.js';
import { type TestDevice, uncaptured } from '../../webgpu/device.js';

export interface OrtTensor {
  readonly type: string;
  readonly dims: readonly number[];
  readonly location: string;
  readonly data: Float32Array;
  readonly gpuBuffer: { readonly size: number; readonly usage: number };
  dispose(): void;
}
export interface OrtSession {
  run(feeds: Record<string, OrtTensor>): Promise<Record<'y', OrtTensor>>;
}
export interface Ort {
  readonly env: { readonly wasm: { numThreads: number } };
  readonly Tensor: { new (type: string, data: Float32Array, dims: readonly number[]): OrtTensor };
  readonly InferenceSession: { create(model: Uint8Array, options: object): Promise<OrtSession> };
}

export interface TfTensor {
  readonly shape: readonly number[];
  readonly dtype: string;
  readonly dataId: object;
  dataSync(): Float32Array;
  data(): Promise<Float32Array>;
  dispose(): void;
  clone(): TfTensor;
}
export interface Tf {
  tensor(values: unknown, shape?: readonly number[], dtype?: string): TfTensor;
  add(a: TfTensor, b: TfTensor | number): TfTensor;
  tidy<T>(action: () => T): T;
  keep<T>(tensor: T): T;
  backend(): { readonly device: object };
  removeBackend(name: string): void;
  registerBackend(name: string, make: () => object): void;
  setBackend(name: string): Promise<boolean>;
  ready(): Promise<void>;
  readonly WebGPUBackend: new (device: object, info: object) => object;
}

export interface JaxArray {
  readonly shape: readonly number[];
  readonly dtype: string;
  readonly device: string;
  readonly refCount: number;
  readonly ref: JaxArray;
  add(other: JaxArray | number): JaxArray;
  mul(other: JaxArray | number): JaxArray;
  data(): Promise<Float32Array>;
  dataSync(): Float32Array;
  dispose(): void;
}
export interface Jax {
  init(...devices: string[]): Promise<readonly string[]>;
  defaultDevice(device: string): void;
  getWebGPUDevice(): TestDevice & { readonly adapterInfo: object };
  readonly numpy: {
    array(values: unknown, options?: object): JaxArray;
    zeros(shape: readonly number[], options?: object): JaxArray;
  };
}

/** A module below the root of the project, which a page and Node load by the same path. */
const from = (path: string): Promise<unknown> => import(new URL(`../../../../${path}`, import.meta.url).href);

/** TensorFlow.js, whose build for browsers does not load on Node: there, `dawn.ts` provides the build for Node. */
const loadTensorFlow = async (): Promise<Tf> =>
  ((globalThis as { tensorFlow?: Tf }).tensorFlow ?? (await from('build/browser/tfjs.js'))) as Tf;

/** jax-js makes the device, and TensorFlow.js is moved to it. */
export async function loadLibraries() {
  const jax = (await from('build/browser/jax-js.js')) as Jax;
  await jax.init('webgpu');
  jax.defaultDevice('webgpu');
  const device = jax.getWebGPUDevice();
  device.addEventListener('uncapturederror', (event) => uncaptured.push(event.error.message));
  const tf = await loadTensorFlow();
  tf.removeBackend('webgpu');
  tf.registerBackend('webgpu', () => new tf.WebGPUBackend(device, device.adapterInfo));
  await tf.setBackend('webgpu');
  await tf.ready();
  const ort = (await from('.libraries/node_modules/onnxruntime-web/dist/ort.webgpu.bundle.min.mjs')) as Ort;
  ort.env.wasm.numThreads = 1;
  return { jax, tf, ort, device };
}

/** A session of a model with one operator on two axes: `y = operator(x, ...)`. */
export const makeSession = (ort: Ort, device: object, operator = 'Mul', operands = 2): Promise<OrtSession> =>
  ort.InferenceSession.create(makeModel(operator, operands, 'float32'), {
    executionProviders: [{ name: 'webgpu', device }],
    preferredOutputLocation: 'gpu-buffer',
  });
