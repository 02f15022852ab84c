/**
 * Malformed objects of libraries: each adapter takes an object, of which one or two fields are wrong, change, throw or take
 * the memory away. The result is a tensor that can be read, or a typed error.
 */

import 'dlpack/webgpu';
import 'dlpack/adapters/register';
import { fromDLPack, isDLPackError, Tensor } from 'dlpack';
import * as adapters from 'dlpack/adapters';
import { Random } from './random.js';

type Fields = Record<string, unknown>;

const gpuDevice = { queue: {}, lost: new Promise(() => {}), limits: {}, createBuffer: () => ({}) };
const gpuBuffer = () => ({ size: 64, usage: 4 | 8 | 128 });
const floats = () => new Float32Array(16);

const arrowData = () => ({
  type: { typeId: 3, precision: 1 },
  length: 4,
  offset: 0,
  nullCount: 0,
  values: floats(),
  nullBitmap: null as Uint8Array | null,
  children: [] as object[],
});
const arrowVector = (data: object) => ({ type: { typeId: 3, precision: 1 }, data: [data], length: 4, nullCount: 0 });
const jaxArray = (device: string, dtype = 'float32') => ({
  shape: [4],
  dtype,
  device,
  refCount: 1,
  dataSync: () => (dtype === 'bool' ? new Int32Array(4) : floats()),
  ref: { dataSync: () => (dtype === 'bool' ? new Int32Array(4) : floats()), gpuBufferSync: gpuBuffer, dispose() {} },
  dispose() {},
});
const liteRT = (accelerator: string) => ({
  type: { dtype: 'float32', layout: { dimensions: new Int32Array([4]) } },
  accelerator,
  toTypedArray: floats,
  toGpuBuffer: gpuBuffer,
  delete() {},
});
const onnx = (location: string) => ({
  type: 'float32',
  dims: [2, 2],
  location,
  data: floats(),
  gpuBuffer: gpuBuffer(),
  dispose() {},
});

const numpyTs = (wasmRegion: object | null) => ({
  storage: { data: floats(), shape: [2, 2], strides: [2, 1], offset: 4, dtype: 'float32', wasmRegion },
});
const openCV = () => ({
  rows: 2,
  cols: 2,
  step: [8, 4],
  data: new Uint8Array(16),
  channels: () => 1,
  depth: () => 5,
  rowRange: () => ({ data: new Uint8Array(16), delete() {} }),
  delete() {},
});
/** A vector of floats, with a bit for each item. */
const duckDB = () => ({
  type: { typeId: 10 } as object,
  itemCount: 4,
  validity: { data: BigUint64Array.of(15n) as BigUint64Array | null, offset: 0 },
  items: floats() as Float32Array | undefined,
  childData: undefined as object | undefined,
  flush() {},
});
const duckDBArrays = () => ({
  ...duckDB(),
  type: { typeId: 33, length: 4 },
  items: undefined,
  childData: { ...duckDB(), itemCount: 16, validity: { data: null, offset: 0 } },
});
const mediaPipe = (isCategories: boolean) => ({
  width: 2,
  height: 2,
  hasUint8Array: () => isCategories,
  hasFloat32Array: () => !isCategories,
  getAsUint8Array: () => new Uint8Array(4),
  getAsFloat32Array: () => new Float32Array(4),
});
const typeGPU = (element: object) => ({
  resourceType: 'buffer',
  dataType: { type: 'array', elementType: element, elementCount: 4 },
  buffer: gpuBuffer(),
});

/** Objects as the libraries make them, and the adapter of each. */
const objects: readonly (readonly [from: (value: never, options?: object) => unknown, make: () => Fields])[] = [
  [adapters.fromNdarray, () => ({ data: floats(), shape: [2, 2], stride: [2, 1], offset: 4 })],
  [adapters.fromNdarray, () => ({ data: new DataView(new ArrayBuffer(16)), shape: [4], stride: [1], offset: 0 })],
  [
    adapters.fromStdlib,
    () => ({ data: floats(), shape: [4], strides: [1], offset: 0, order: 'row-major', dtype: 'float32', flags: {} }),
  ],
  [adapters.fromZarrita, () => ({ data: floats(), shape: [4], stride: [1] })],
  [
    adapters.fromSharp,
    () => ({ data: new Uint8Array(12), info: { width: 2, height: 2, channels: 3, depth: 'uchar' } }),
  ],
  [adapters.fromImageData, () => ({ data: new Uint8ClampedArray(16), width: 2, height: 2 })],
  [adapters.fromAudioBuffer, () => ({ numberOfChannels: 2, length: 4, sampleRate: 1, getChannelData: floats })],
  [adapters.fromArrow, () => arrowVector(arrowData())],
  [adapters.fromArrow, () => arrowVector({ ...arrowData(), type: { typeId: 6 }, values: new Uint8Array(4) })],
  [
    adapters.fromArrow,
    () => arrowVector({ ...arrowData(), type: { typeId: 16, listSize: 2 }, children: [arrowData()] }),
  ],
  [
    adapters.arrowValidity,
    () => arrowVector({ ...arrowData(), nullCount: 1, nullBitmap: new Uint8Array(4), values: null }),
  ],
  [adapters.fromNumpyTs, () => numpyTs(null)],
  [adapters.fromNumpyTs, () => numpyTs({ retain() {}, release() {} })],
  [adapters.fromOpenCV, openCV],
  [adapters.fromDuckDB, duckDB],
  [adapters.fromDuckDB, duckDBArrays],
  [adapters.duckDBValidity, () => ({ ...duckDB(), validity: { data: BigUint64Array.of(5n), offset: 1 } })],
  [adapters.fromMediaPipe, () => mediaPipe(true)],
  [adapters.fromMediaPipe, () => mediaPipe(false)],
  [adapters.fromTypeGPU, () => typeGPU({ type: 'f32' })],
  [adapters.fromTypeGPU, () => typeGPU({ type: 'vec3f' })],
  [adapters.fromOnnxRuntime, () => onnx('cpu')],
  [adapters.fromOnnxRuntime, () => onnx('gpu-buffer')],
  [adapters.fromTransformers, () => ({ ort_tensor: onnx('cpu') })],
  [adapters.fromTensorFlow, () => ({ dataId: {}, shape: [4], dtype: 'float32', dataSync: floats, clone: () => ({}) })],
  [adapters.fromJaxJs, () => jaxArray('cpu')],
  [adapters.fromJaxJs, () => jaxArray('cpu', 'bool')],
  [adapters.fromJaxJs, () => jaxArray('webgpu')],
  [adapters.fromLiteRT, () => liteRT('wasm')],
  [adapters.fromLiteRT, () => liteRT('webgpu')],
  [
    adapters.fromTvmjs,
    () => ({ shape: [4], dtype: 'float32', toRawBytes: () => new Uint8Array(16), copyFromRawBytes() {} }),
  ],
  [
    adapters.fromVideoFrame,
    () => ({ visibleRect: { width: 2, height: 2 }, copyTo: async () => {}, allocationSize: () => 16 }),
  ],
  [
    (value: never, options?: object) =>
      adapters.fromMLTensor(value, {
        ...options,
        context: { readTensor: async () => new ArrayBuffer(16) },
      } as never),
    () => ({ dataType: 'float32', shape: [4], destroy() {} }),
  ],
];

const detach = (array: ArrayBufferView): void =>
  void structuredClone(array.buffer, { transfer: [array.buffer as ArrayBuffer] });

function detached<A extends ArrayBufferView>(array: A): A {
  detach(array);
  return array;
}

const refuse = (): never => {
  throw new Error('thrown by the object');
};

/** Rejects. No object of this package may wait for it, so it has its own handler. */
function rejected(): Promise<never> {
  const promise = Promise.reject(new Error('rejected by the object'));
  promise.catch(() => {});
  return promise;
}

const revoked = (): object => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
};

/** Values that no field expects, or not with this content. Numbers are small, or larger than any memory. */
const wrong: readonly (() => unknown)[] = [
  ...[undefined, null, true, '', 'abc', 'float32', 'uint8', 'int4', 'gpu-buffer', 'cpu', 'constructor', '__proto__'],
  ...[0, -0, -1, 0.5, 1, 3, 5, 16, 17, 2 ** 48, 2 ** 53, 1e300, NaN, Infinity, -Infinity, 4n, -4n, 2n ** 70n],
].map((value) => () => value);
const wrongObjects: readonly (() => unknown)[] = [
  () => ({}),
  () => [],
  () => [null],
  () => [-1],
  () => [4n],
  () => [0.5],
  () => [2, 2],
  () => [-2, -1],
  () => [2 ** 53],
  () => [2 ** 48, 2 ** 48],
  () => new Array(65).fill(1),
  () => new Array(3), // has no elements
  () => ({ length: 2 ** 40 }),
  () => ({ length: 1, 0: 4 }),
  () => Symbol('a symbol'),
  () => new Float32Array(3),
  () => new Float32Array(new ArrayBuffer(64), 4, 8),
  () => new Float32Array(new SharedArrayBuffer(64)),
  () => new BigInt64Array(16),
  () => new Uint8Array(new ArrayBuffer(17), 1),
  () => new DataView(new ArrayBuffer(16), 4),
  () => new ArrayBuffer(64),
  () => detached(new Float32Array(16)),
  () => detached(new DataView(new ArrayBuffer(16))),
  () => new Proxy(new Float32Array(16), {}),
  () => new Proxy({}, { get: refuse, has: refuse, ownKeys: refuse, getPrototypeOf: refuse }),
  () => ({ buffer: new ArrayBuffer(16), byteOffset: -4, byteLength: 16 }),
  () => ({ buffer: new ArrayBuffer(16), byteOffset: 0, byteLength: 2 ** 40 }),
  () => ({ buffer: new ArrayBuffer(16), byteOffset: 4n, byteLength: 8 }),
  () => ({ buffer: {}, byteOffset: 0, byteLength: 8 }),
  () => ({ toString: refuse, valueOf: refuse }),
  () => ({ [Symbol.toPrimitive]: refuse }),
  () => Object.defineProperty(new Float32Array(16), 'BYTES_PER_ELEMENT', { value: 4n }),
  () => Object.defineProperty(new Float32Array(16), 'length', { get: refuse }),
  () => Object.defineProperty(new Float32Array(16), 'buffer', { get: refuse }),
  () => refuse,
  () => floats,
  () => () => null,
  () => rejected,
  revoked,
];

const anyWrong = (random: Random): unknown => random.pick(random.chance(0.5) ? wrong : wrongObjects)();

/** A place of an object that can be changed: the object or one inside it, and a key. */
type Place = readonly [object: Fields, key: string];

function placesOf(object: object, depth = 0): Place[] {
  if (depth > 3 || ArrayBuffer.isView(object)) return [];
  return Object.keys(object).flatMap((key) => {
    const inner = (object as Fields)[key];
    const here = [object as Fields, key] as const;
    return typeof inner === 'object' && inner !== null ? [here, ...placesOf(inner, depth + 1)] : [here];
  });
}

/** Damages one place. `array`: memory that a getter detaches. Returns what was done, for the log. */
function damage(random: Random, [object, key]: Place, array: ArrayBufferView | undefined): string {
  const { value: before } = Object.getOwnPropertyDescriptor(object, key) as PropertyDescriptor;
  const define = (property: PropertyDescriptor) =>
    void Object.defineProperty(object, key, { configurable: true, enumerable: true, ...property });
  const set = (value: unknown) => define({ value, writable: true });
  const kind = random.pick(['wrong', 'wrong', 'wrong', 'changes', 'throws', 'detaches', 'contains itself', 'proxy']);
  if (kind === 'wrong') set(anyWrong(random));
  else if (kind === 'throws') define({ get: refuse });
  else if (kind === 'contains itself') set(random.chance(0.5) ? object : [object]);
  else if (kind === 'changes') {
    let reads = random.integer(0, 3);
    define({ get: () => (reads-- > 0 ? before : anyWrong(random)) });
  } else if (kind === 'proxy') {
    const isObject = typeof before === 'object' && before !== null;
    set(isObject ? new Proxy(before, random.chance(0.5) ? { get: refuse } : {}) : before);
  } else {
    const get = () => {
      if (array !== undefined && array.byteLength > 0) detach(array);
      return before;
    };
    define({ get });
  }
  return `${kind} ${key}`;
}

const options = (random: Random): object | undefined =>
  random.pick<object | undefined>([
    undefined,
    { copy: true },
    { copy: false },
    { adopt: true },
    { gpuDevice },
    { gpuDevice, copy: false },
    { backend: { submitQueue() {}, tensorMap: new Map(), device: gpuDevice } },
    { nulls: 'ignore' },
    { channel: 1 },
    { dtype: 'uint8' },
  ]);

/** Reads what a tensor of the host has, and releases it. */
function use(tensor: unknown): void {
  if (!(tensor instanceof Tensor)) return;
  try {
    if (tensor.device === 'cpu' && tensor.size < 4096) tensor.toArray();
    String(tensor);
  } finally {
    tensor.dispose();
  }
}

async function check(name: string, call: () => unknown): Promise<void> {
  try {
    use(await call());
  } catch (error) {
    if (isDLPackError(error)) return;
    throw new Error(`${name}: an untyped error`, { cause: error });
  }
}

export async function fuzzAdapters(
  seed: number,
  steps: number,
  log: (line: string) => void,
  isLate: () => boolean,
): Promise<number> {
  const random = new Random(seed);
  let done = 0;
  for (; done < steps && !isLate(); done++) {
    const [from, make] = random.pick(objects);
    const value = make();
    const places = placesOf(value);
    const array = places.map(([object, key]) => object[key]).find((item) => ArrayBuffer.isView(item));
    const damaged = random.shuffled(places).slice(0, random.pick([1, 1, 2]));
    const kinds = damaged.map((place) => damage(random, place, array));
    const name = `${done}: ${from.name} of ${Object.keys(make())}; ${kinds}`;
    log(name);
    const ways: Record<string, () => unknown> = {
      itself: () => from(value as never, options(random) as never),
      adapt: () => adapters.adapt(value, { copy: random.pick([null, true]) }),
      fromDLPack: () => fromDLPack(value as never),
      from: () => Tensor.from(value as never),
    };
    const way = random.pick(['itself', 'itself', 'itself', 'adapt', 'fromDLPack', 'from']);
    await check(`${name}; ${way}`, ways[way] as () => unknown);
  }
  return done;
}
