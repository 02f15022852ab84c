import { scope, Tensor } from 'dlpack';
import {
  type ArrowModule,
  type ArrowVector,
  adapt,
  arrowValidity,
  fromArrow,
  fromNdarray,
  fromOnnxRuntime,
  fromSharp,
  fromStdlib,
  fromZarrita,
  type NdArray,
  type StdlibArray,
  toArrow,
  toNdarray,
  toSharp,
  toStdlib,
  toZarrita,
} from 'dlpack/adapters';
import { addressOf } from 'dlpack/native';
import { equal, ok, throws } from '../assert.js';
import { test, testWith } from '../harness.js';
import { load, loadModule, missing } from './libraries.js';

const absent =
  ['ndarray', '@stdlib/ndarray-ctor', 'zarrita', 'apache-arrow', 'sharp'].map(missing).find(Boolean) ?? false;

interface ScijsArray extends NdArray {
  get(...index: number[]): number;
  set(...indexAndValue: number[]): void;
  transpose(...axes: number[]): ScijsArray;
  step(...steps: number[]): ScijsArray;
}
type Ndarray = (data: object, shape?: number[], stride?: number[], offset?: number) => ScijsArray;

testWith(absent, 'ndarray: strides, negative ones and offsets, both ways', () => {
  const ndarray = load<Ndarray>('ndarray');
  const array = ndarray(new Float32Array(6), [2, 3]);
  const turned = array.transpose(1, 0).step(-1, 1);
  const x = adapt(turned);
  array.set(1, 2, 42);
  equal([x.shape, x.get(0, 1)], [[3, 2], 42]);

  const y = Tensor.from(
    [
      [1, 2, 3],
      [4, 5, 6],
    ],
    { dtype: 'float32' },
  );
  const view = toNdarray(y.slice(null, [1, 3]).transpose(), ndarray);
  equal([view.shape, view.get(1, 0), view.get(1, 1)], [[2, 2], 3, 6]);
  view.set(1, 1, 60);
  equal(y.get(1, 2), 60);
  const last = y.slice([1, 2]);
  y.dispose();
  last.dispose();
  equal(view.get(1, 1), 60, 'the ndarray keeps the memory');
  throws('BufferError', 'adopt', () => fromNdarray(turned, { adopt: true }));
  equal(fromNdarray(array, { adopt: true }).get(1, 2), 42);
  throws('TypeError', 'typed array', () => fromNdarray(ndarray([1, 2])));
  const half = Tensor.from([1.5], { dtype: 'float16' });
  if ('Float16Array' in globalThis) equal(toNdarray(half, ndarray).get(0), 1.5);
  else throws('UnsupportedDTypeError', 'float16', () => toNdarray(half, ndarray));
});

testWith(absent, "a scope does not release memory that a library's object keeps", () => {
  const ndarray = load<Ndarray>('ndarray');
  const [rows, columns] = scope(() => {
    const x = Tensor.from([[1, 2], [3, 4]], { dtype: 'float32' }); // biome-ignore format: a table
    return [toNdarray(x, ndarray), toNdarray(x.transpose(), ndarray)];
  });
  equal([rows?.get(1, 0), columns?.get(1, 0)], [3, 2]);
});

testWith(absent, 'stdlib: strides, no axes, read-only arrays and complex numbers', () => {
  const Ndarray =
    load<new (...args: unknown[]) => StdlibArray & { get(...index: number[]): number }>('@stdlib/ndarray-ctor');
  const data = new Float64Array([1, 2, 3, 4]);
  const x = fromStdlib(new Ndarray('float64', data, [2, 2], [1, 2], 0, 'column-major'));
  equal(x.toArray(), [
    [1, 3],
    [2, 4],
  ]);
  data[1] = 20;
  equal(x.get(1, 0), 20);
  const scalar = adapt(new Ndarray('float64', new Float64Array([7]), [], [0], 0, 'row-major', { readonly: true }));
  equal([scalar.ndim, scalar.get(), scalar.isReadOnly], [0, 7, true]);
  const parts = new Float32Array([1, 2, 3, 4]);
  const wrapped = { buffer: parts.buffer, byteOffset: 0, byteLength: 16 }; // as in Complex64Array
  const complex = { data: wrapped, dtype: 'complex64', shape: [1], strides: [1], offset: 1, order: 'row-major' };
  equal(fromStdlib(complex).toArray(), [{ re: 3, im: 4 }]);
  const back = toStdlib(x, Ndarray);
  equal([back.get(0, 1), back.get(1, 0)], [3, 20]);
  throws('UnsupportedDTypeError', 'generic', () => fromStdlib(new Ndarray('generic', [1], [1], [1], 0, 'row-major')));
});

interface Zarrita {
  create(store: unknown, options: object): Promise<unknown>;
  get(array: unknown): Promise<{ data: object; shape: number[]; stride: number[] }>;
  set(array: unknown, selection: unknown, chunk: object): Promise<void>;
  root(): { resolve(path: string): unknown };
}

testWith(absent, 'zarrita: a tensor is written to an array and read back', async () => {
  const zarr = await loadModule<Zarrita>('zarrita/dist/src/index.js');
  const x = Tensor.from(
    [
      [1, 2, 3],
      [4, 5, 6],
    ],
    { dtype: 'float32' },
  );
  const options = { shape: [2, 3], chunkShape: [2, 2] };
  const array = await zarr.create(zarr.root().resolve('x'), {
    ...options,
    dtype: 'float32',
    data_type: 'float32',
    chunk_shape: [2, 2],
  });
  await zarr.set(array, null, toZarrita(x));
  const chunk = await zarr.get(array);
  const y = adapt(chunk);
  equal(y.toArray(), x.toArray());
  (chunk.data as Float32Array)[5] = 60;
  equal(y.get(1, 2), 60);
  const flags = await zarr.create(zarr.root().resolve('b'), {
    ...options,
    dtype: 'bool',
    data_type: 'bool',
    chunk_shape: [2, 2],
  });
  const read = fromZarrita(await zarr.get(flags));
  equal([read.dtype, read.get(0, 0)], ['bool', false]);
  throws('UnsupportedDTypeError', 'strings', () => fromZarrita({ data: ['a'], shape: [1], stride: [1] }));
});

interface Arrow extends ArrowModule<ArrowVector> {
  vectorFromArray(
    values: unknown[],
    type?: unknown,
  ): ArrowVector & {
    slice(from: number, to: number): ArrowVector;
    concat(...more: ArrowVector[]): ArrowVector;
  };
  Int32: new () => unknown;
  Float16: new () => unknown;
  Utf8: new () => unknown;
}

testWith(absent, 'arrow: slices, booleans as bits, nulls refused or shown', () => {
  const arrow = load<Arrow>('apache-arrow');
  const column = arrow.vectorFromArray([1, 2, 3, 4], new arrow.Int32());
  equal(adapt(column.slice(1, 3)).toArray(), [2, 3]);
  const bits = fromArrow(arrow.vectorFromArray([true, false, true, true]).slice(1, 4));
  equal([bits.dtype, bits.toArray()], ['uint1', [0, 1, 1]]);
  const packed = fromArrow(arrow.vectorFromArray([true, false, true, true]).slice(1, 4), { copy: true });
  equal(packed.toArray(), [0, 1, 1]);
  equal((packed.data as Uint8Array).map((byte) => byte & 0b111)[0], 0b110, 'a copy starts on a byte');
  const flags = arrow.vectorFromArray([true, false]);
  const [shared, copy] = [fromArrow(flags), fromArrow(flags, { copy: true })];
  shared.set(1, 1);
  equal([fromArrow(flags).toArray(), copy.toArray()], [[1, 1], [1, 0]]); // biome-ignore format: one line
  equal(fromArrow(flags, { adopt: true, copy: true }).toArray(), [1, 1]);
  equal(flags.data[0]?.values.length === 0, false, 'a copy moves nothing');
  const taken = fromArrow(flags, { adopt: true });
  equal([taken.toArray(), flags.data[0]?.values.length], [[1, 1], 0]);

  const holes = arrow.vectorFromArray([1, null, 3], new arrow.Int32());
  throws('BufferError', 'arrowValidity', () => fromArrow(holes));
  equal(fromArrow(holes, { nulls: 'ignore' }).get(2), 3);
  equal([arrowValidity(holes)?.toArray(), arrowValidity(column)], [[1, 0, 1], null]);
  equal(arrowValidity(holes.slice(1, 3))?.toArray(), [0, 1]);
  throws('UnsupportedDTypeError', 'Utf8', () => fromArrow(arrow.vectorFromArray(['a'], new arrow.Utf8())));
  const rows = toArrow(
    Tensor.from(
      [
        [1, 2],
        [3, 4],
      ],
      { dtype: 'int32' },
    ),
    arrow,
  );
  equal(fromArrow(rows).toArray(), [
    [1, 2],
    [3, 4],
  ]);
  throws('LayoutError', 'an axis for Arrow', () => toArrow(Tensor.from(1), arrow));
  for (const shape of [
    [2, 3, 4],
    [2, 0, 3],
    [0, 2, 2],
    [1, 2, 1, 3],
  ]) {
    const x = Tensor.from(Array.from({ length: shape.reduce((a, b) => a * b) }, (_, i) => i), { shape, dtype: 'int32' }); // biome-ignore format: one line
    const vector = toArrow(x, arrow);
    const y = fromArrow(vector);
    equal([vector.length, y.shape, y.toArray()], [shape[0], shape, x.toArray()]);
    if (x.size > 0) equal(addressOf(y), addressOf(x), 'shared');
  }
});

testWith(absent, 'arrow: nested lists have an axis each, and elements of lists may be null', () => {
  const arrow = load<Arrow>('apache-arrow');
  const lists = (size: number, item: unknown) =>
    new arrow.FixedSizeList(size, new arrow.Field('x', item as never) as never);
  const cube = [[[1, 2, 3], [4, 5, 6]], [[7, 8, 9], [10, 11, 12]]]; // biome-ignore format: one line
  const nested = arrow.vectorFromArray(cube, lists(2, lists(3, new arrow.Int32())));
  equal(fromArrow(nested).toArray(), cube);
  equal(fromArrow(nested.slice(1, 2)).toArray(), cube.slice(1));

  const holes = arrow.vectorFromArray([[1, null], [3, 4], [null, 6]], lists(2, new arrow.Int32())); // biome-ignore format: one line
  throws('BufferError', 'nulls', () => fromArrow(holes));
  equal(fromArrow(holes, { nulls: 'ignore' }).shape, [3, 2]);
  equal(arrowValidity(holes)?.toArray(), [1, 0, 1, 1, 0, 1]);
  equal(arrowValidity(holes.slice(1, 3))?.toArray(), [1, 1, 0, 1]);
  equal(arrowValidity(nested), null);
  const rows = arrow.vectorFromArray([[1, 2], null], lists(2, new arrow.Int32()));
  equal(arrowValidity(rows)?.toArray(), [1, 0], 'which lists are valid');
});

testWith(absent, 'arrow: the error about chunks says what works for every type', () => {
  const arrow = load<Arrow>('apache-arrow');
  const halves = arrow.vectorFromArray([1.5, 2.5], new arrow.Float16());
  const both = halves.concat(halves.slice(1, 2));
  throws('BufferError', 'use new arrow.Vector([data]) for each of vector.data', () => fromArrow(both));
  equal(
    both.data.map((data) => fromArrow(new arrow.Vector([data] as never)).toArray()),
    [[1.5, 2.5], [2.5]],
  );
});

type Sharp = (
  input: unknown,
  options?: object,
) => {
  raw(options?: object): {
    toBuffer(options: object): Promise<{ data: Buffer; info: { width: number; height: number; channels: number } }>;
  };
  png(): { toBuffer(): Promise<Buffer> };
};

testWith(absent, 'sharp: pixels from an image and back, without a copy', async () => {
  const sharp = load<Sharp>('sharp');
  const image = sharp({ create: { width: 4, height: 2, channels: 3, background: '#0a141e' } });
  const raw = await image.raw().toBuffer({ resolveWithObject: true });
  const pixels = adapt(raw);
  equal([pixels.shape, pixels.get(0, 0, 2)], [[2, 4, 3], 30]);
  raw.data[0] = 99;
  equal(pixels.get(0, 0, 0), 99);
  const png = await toSharp(pixels, sharp).png().toBuffer();
  const again = fromSharp(await sharp(png).raw().toBuffer({ resolveWithObject: true }));
  equal(again.toArray(), pixels.toArray());
  equal(addressOf(fromSharp(raw)), addressOf(pixels));
  const deep = await sharp(png).raw({ depth: 'float' }).toBuffer({ resolveWithObject: true });
  equal(fromSharp(deep, { dtype: 'float32' }).get(0, 0, 0), 99);
  throws('LayoutError', 'rows by columns', () => toSharp(Tensor.zeros([4], 'uint8'), sharp));
});

test('copy: true with adopt: true copies, and the library keeps its array', () => {
  const data = Float32Array.of(1, 2);
  const x = fromNdarray({ data, shape: [2], stride: [1], offset: 0 }, { adopt: true, copy: true });
  data[0] = 9;
  equal([x.toArray(), [...data]], [[1, 2], [9, 2]]); // biome-ignore format: one line
});

testWith(absent, 'stdlib: the array decides the dtype, as in the library, which does not compare them', () => {
  type Stdlib = new (...parts: unknown[]) => StdlibArray & { get(i: number): number };
  const ndarray = load<Stdlib>('@stdlib/ndarray-ctor');
  const pairs = [
    ['float64', Float32Array.of(1, 2, 3), 'float32'],
    ['float32', Float64Array.of(1, 2, 3), 'float64'],
    ['int32', Uint32Array.of(1, 2, 2 ** 32 - 1), 'uint32'],
    ['uint8', Uint8ClampedArray.of(1, 2, 3), 'uint8'],
  ] as const;
  for (const [given, data, dtype] of pairs) {
    const array = new ndarray(given, data, [2], [-1], 2, 'row-major');
    const x = fromStdlib(array);
    equal([x.dtype, x.toArray()], [dtype, [array.get(0), array.get(1)]], given);
  }
});

testWith(absent, 'stdlib: float16 is refused where its bits would be integers', () => {
  type Stdlib = new (...parts: unknown[]) => StdlibArray & { get(i: number): number };
  const ndarray = load<Stdlib>('@stdlib/ndarray-ctor');
  const x = Tensor.from([1.5, -2], { dtype: 'float16' });
  if ('Float16Array' in globalThis) equal(toStdlib(x, ndarray).get(0), 1.5);
  else throws('UnsupportedDTypeError', 'float16', () => toStdlib(x, ndarray));
});

test('GPU memory loads dlpack/webgpu', () => {
  const gpuBuffer = { size: 16, usage: 128 };
  const value = { type: 'float32', dims: [4], location: 'gpu-buffer', data: null, gpuBuffer, dispose() {} };
  ok(fromOnnxRuntime(value, { gpuDevice: {} }).device.startsWith('webgpu'));
});
