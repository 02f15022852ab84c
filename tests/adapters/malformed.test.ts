/** Malformed objects that an adapter recognises: a typed error, whatever is wrong. `tests/fuzz/adapters.ts` makes more of them. */

import { isDLPackError } from 'dlpack';
import * as adapters from 'dlpack/adapters';
import { equal, ok, throws } from '../assert.js';
import { test } from '../harness.js';

const ndarray = (change: object) => ({ data: new Float32Array(16), shape: [4], stride: [1], offset: 0, ...change });
const region = (byteOffset: unknown, byteLength: unknown) => ({ buffer: new ArrayBuffer(16), byteOffset, byteLength });
const stdlib = (change: object) => ({
  ...{ data: new Float32Array(4), shape: [4], strides: [1], offset: 0, order: 'row-major', dtype: 'float32' },
  ...change,
});
const audio = (getChannelData: unknown) => ({ numberOfChannels: 2, length: 4, getChannelData });
const jax = (change: object) => ({
  ...{ shape: [4], dtype: 'float32', device: 'cpu', refCount: 1, dataSync() {}, ref: null },
  ...change,
});
const numpyTs = (change: object) => ({
  storage: {
    data: new Float32Array(4),
    shape: [4],
    strides: [1],
    offset: 0,
    dtype: 'float32',
    wasmRegion: null,
    ...change,
  },
});
const openCV = (change: object) => ({
  ...{ rows: 2, cols: 2, step: [8], data: new Uint8Array(16), channels: () => 1, depth: () => 5, delete() {} },
  rowRange: () => ({ data: new Uint8Array(16), delete() {} }),
  ...change,
});
const circle: { type: string; elementCount: number; elementType?: object } = { type: 'array', elementCount: 1 };
circle.elementType = circle;
function detached(): DataView {
  const view = new DataView(new ArrayBuffer(16));
  structuredClone(view.buffer, { transfer: [view.buffer] });
  return view;
}
const fail = () => {
  throw new RangeError('thrown by the object');
};

type Case = readonly [name: string, from: (value: never) => unknown, value: object, tag: string, message: string];
const cases: readonly Case[] = [
  [
    'a bigint as offset',
    adapters.fromNdarray,
    ndarray({ offset: 4n }),
    'TypeError',
    'integer of zero or more for offset',
  ],
  ['a negative offset', adapters.fromNdarray, ndarray({ offset: -1 }), 'TypeError', 'for offset'],
  ['an offset beyond the memory', adapters.fromNdarray, ndarray({ offset: 2 ** 50 }), 'LayoutError', ''],
  ['huge strides', adapters.fromNdarray, ndarray({ stride: [2 ** 52] }), 'LayoutError', ''],
  ['memory before a buffer', adapters.fromNdarray, ndarray({ data: region(-4, 16) }), 'TypeError', 'for data'],
  ['memory beyond a buffer', adapters.fromNdarray, ndarray({ data: region(0, 1e9) }), 'TypeError', 'for data'],
  ['bigints of memory', adapters.fromNdarray, ndarray({ data: region(0n, 16n) }), 'TypeError', 'for data'],
  ['a proxy', adapters.fromNdarray, ndarray({ data: new Proxy(new Float32Array(4), {}) }), 'TypeError', 'for data'],
  ['a detached view', adapters.fromNdarray, ndarray({ data: detached() }), 'TypeError', 'for data'],
  ['no shape', adapters.fromStdlib, stdlib({ shape: null }), 'TypeError', 'a stdlib ndarray'],
  ['no data', adapters.fromStdlib, stdlib({ data: null }), 'TypeError', 'a stdlib ndarray'],
  ['text', adapters.fromZarrita, { data: 'abc', shape: [3], stride: [1] }, 'TypeError', 'a chunk of zarrita'],
  ['no info', adapters.fromSharp, { data: new Uint8Array(4), info: null }, 'TypeError', 'a raw image of sharp'],
  ['no pixels', adapters.fromSharp, { data: null, info: { width: 1, height: 1, channels: 4 } }, 'TypeError', 'sharp'],
  ['no reference', adapters.fromJaxJs, jax({}), 'ForeignError', 'jax-js failed: TypeError'],
  [
    'a getter that throws',
    adapters.fromJaxJs,
    Object.defineProperty(jax({}), 'shape', { get: fail }),
    'ForeignError',
    '',
  ],
  ['a number as method', adapters.fromAudioBuffer, audio(5), 'TypeError', 'an AudioBuffer'],
  ['a channel without samples', adapters.fromAudioBuffer, audio(() => null), 'TypeError', 'a typed array'],
  ['a short channel', adapters.fromAudioBuffer, audio(() => new Float32Array(3)), 'LayoutError', ''],
  ['a method that throws', adapters.fromAudioBuffer, audio(fail), 'ForeignError', 'thrown by the object'],
  ['a length that is no integer', adapters.fromNumpyTs, numpyTs({ shape: [0.5] }), 'ValueError', 'an integer'],
  ['fewer strides', adapters.fromNumpyTs, numpyTs({ strides: [] }), 'LayoutError', 'strides'],
  [
    'a region without a release',
    adapters.fromNumpyTs,
    numpyTs({ wasmRegion: { retain() {} } }),
    'TypeError',
    'release',
  ],
  ['more rows than memory', adapters.fromOpenCV, openCV({ rows: 2 ** 40 }), 'BufferError', 'the memory of OpenCV.js'],
  ['no memory', adapters.fromOpenCV, openCV({ rowRange: () => ({ data: 5, delete() {} }) }), 'TypeError', 'byteOffset'],
  ['a header without an end', adapters.fromOpenCV, openCV({ rowRange: () => ({}) }), 'TypeError', 'delete'],
  [
    'an array that contains itself',
    adapters.fromTypeGPU,
    { resourceType: 'buffer', dataType: circle, buffer: {} },
    'LayoutError',
    'at most',
  ],
];
for (const [name, from, value, tag, message] of cases) {
  test(`${from.name}: ${name}`, () => void throws(tag as 'TypeError', message, () => from(value as never)));
}

test('the error of an object is the cause of the typed error', () => {
  try {
    adapters.fromAudioBuffer(audio(fail) as never);
    ok(false, 'no error');
  } catch (error) {
    ok(isDLPackError(error, 'ForeignError') && error.cause instanceof RangeError, String(error));
    equal(error.origin, 'AudioBuffer');
  }
});

test('lists of Arrow that contain themselves end with an error', () => {
  const list = { type: { typeId: 16, listSize: 1 }, length: 1, offset: 0, nullCount: 0, children: [] as object[] };
  list.children.push(list);
  const vector = { type: list.type, data: [list], length: 1, nullCount: 0 } as never;
  throws('LayoutError', 'nested deeper', () => adapters.fromArrow(vector));
  throws('LayoutError', 'nested deeper', () => adapters.arrowValidity(vector));
});

test('an error of a library that gets a tensor is typed', async () => {
  const x = adapters.fromNdarray(ndarray({}) as never);
  throws('ForeignError', 'ndarray failed: RangeError: thrown by the object', () => adapters.toNdarray(x, fail));
  throws('ForeignError', 'ONNX Runtime failed', () =>
    adapters.toOnnxRuntime(x, {
      Tensor: class {
        constructor() {
          fail();
        }
      },
    }),
  );
  equal(x.get(0), 0, 'the tensor is still there');
});
