import type { DType, TypedArray } from 'dlpack';
import { equal, ok, rejects, throws } from '../../assert.js';
import { cores } from '../../cores.js';
import { test } from '../../harness.js';

const ranges: [DType, number | bigint, number | bigint][] = [
  ['int1', -1, 0],
  ['int2', -2, 1],
  ['int4', -8, 7],
  ['int8', -128, 127],
  ['int16', -32768, 32767],
  ['int32', -(2 ** 31), 2 ** 31 - 1],
  ['int64', -(2n ** 63n), 2n ** 63n - 1n],
  ['int128', -(2n ** 127n), 2n ** 127n - 1n],
  ['uint1', 0, 1],
  ['uint2', 0, 3],
  ['uint4', 0, 15],
  ['uint8', 0, 255],
  ['uint16', 0, 65535],
  ['uint32', 0, 2 ** 32 - 1],
  ['uint64', 0n, 2n ** 64n - 1n],
  ['uint128', 0n, 2n ** 128n - 1n],
];

/** The bits of all elements, as integers. */
function bitsOf(floats: TypedArray, integers: typeof Uint32Array | typeof BigUint64Array): (number | bigint)[] {
  return [...new integers(floats.buffer as ArrayBuffer, floats.byteOffset, floats.length)];
}

for (const [core, { Tensor }] of cores) {
  test(`${core}: floats beyond the range of an integer type become its limits, and NaN becomes zero`, () => {
    for (const source of ['float64', 'float32'] as const) {
      for (const [dtype, low, high] of ranges) {
        const beyond = dtype.endsWith('128') ? Infinity : 3e38;
        const values = [Number.NaN, Infinity, -Infinity, beyond, -beyond, 0.9, -0.9, -0];
        using floats = Tensor.from(values, { dtype: source });
        using cast = floats.astype(dtype);
        const zero = typeof low === 'bigint' ? 0n : 0;
        equal([...cast], [zero, high, low, high, low, zero, zero, zero], `${source} to ${dtype}`);
      }
    }
    using floats = Tensor.from([127.9, 128, -128.9, -129, 300, -1.5]);
    equal(floats.astype('int8').toArray(), [127, 127, -128, -128, 127, -1]);
    equal(floats.astype('uint8').toArray(), [127, 128, 0, 0, 255, 0]);
    equal(Tensor.from([2147483646.5, 2147483647.5]).astype('int32').toArray(), [2147483646, 2147483647]);
    equal(
      Tensor.from([2 ** 63, -(2 ** 63), 2 ** 62])
        .astype('int64')
        .toArray(),
      [2n ** 63n - 1n, -(2n ** 63n), 2n ** 62n],
    );
  });

  test(`${core}: integers wrap around, whatever their widths and signs`, () => {
    const values = [-1n, 300n, 2n ** 63n - 1n, -(2n ** 63n), 2n ** 40n + 7n];
    using wide = Tensor.from(values);
    for (const [dtype, low] of ranges) {
      const bits = Number(/\d+/.exec(dtype)?.[0]);
      const wrapped = values.map((v) => (dtype.startsWith('u') ? BigInt.asUintN(bits, v) : BigInt.asIntN(bits, v)));
      using cast = wide.astype(dtype);
      equal([...cast], typeof low === 'bigint' ? wrapped : wrapped.map(Number), dtype);
    }
    equal(
      Tensor.from(new Uint32Array([2 ** 32 - 1]))
        .astype('int32')
        .toArray(),
      [-1],
    );
    equal(Tensor.from([true, false]).astype('int4').toArray(), [1, 0]);
  });

  test(`${core}: wide integers round once on the way to floats`, () => {
    // Halfway between two float32 with one more bit far below: rounding through float64 first would lose that bit.
    const tie = 2n ** 60n + 2n ** 36n;
    using integers = Tensor.from([tie, tie + 1n, -tie - 1n, 2n ** 63n - 1n]);
    equal([...integers.astype('float32')], [2 ** 60, 2 ** 60 + 2 ** 37, -(2 ** 60) - 2 ** 37, 2 ** 63]);
    using unsigned = Tensor.from([2n ** 64n - 1n, 2n ** 63n + 2n ** 39n + 1n]);
    equal(unsigned.dtype, 'uint64');
    equal([...unsigned.astype('float32')], [2 ** 64, 2 ** 63 + 2 ** 40]);
    equal([...unsigned.astype('float64')], [2 ** 64, 2 ** 63 + 2 ** 39]);
    equal([...integers.astype('bfloat16')], [2 ** 60, 2 ** 60, -(2 ** 60), 2 ** 63]);
    equal([...unsigned.astype('float16')], [Infinity, Infinity]);
  });

  test(`${core}: casts turn every NaN into the positive quiet NaN, and copies keep the bits`, () => {
    const bits = new Uint32Array([0xffc12345, 0x7f800001, 0xff800001, 0x7fc00000]);
    const floats = Tensor.wrap(new Float32Array(bits.buffer));
    equal(bitsOf(floats.copy().data, Uint32Array), [...bits]);
    equal(bitsOf(floats.flip().copy().data, Uint32Array), [...bits].reverse());
    equal(bitsOf(floats.astype('float64').data, BigUint64Array), new Array(4).fill(0x7ff8000000000000n));
    equal([...floats.astype('bfloat16').data], new Array(4).fill(0x7fc0));
    const half = floats.astype('float16').data;
    equal([...new Uint16Array(half.buffer, half.byteOffset, 4)], new Array(4).fill(0x7e00));
    const brain = Tensor.wrap(new Uint16Array([0xffc1, 0x7f81]), { dtype: 'bfloat16' });
    equal(bitsOf(brain.astype('float32').data, Uint32Array), [0x7fc00000, 0x7fc00000]);
    const halves = Tensor.wrap(new Uint16Array([0xfe01, 0x7c01]), { dtype: 'float16' });
    equal(bitsOf(halves.astype('float32').data, Uint32Array), [0x7fc00000, 0x7fc00000]);
    const wide = Tensor.wrap(new BigUint64Array([0xfff8000000000001n, 0x7ff0000000000001n]), { dtype: 'float64' });
    equal(bitsOf(wide.astype('float32').data, Uint32Array), [0x7fc00000, 0x7fc00000]);
  });

  test(`${core}: bool, complex and lanes`, () => {
    equal([...Tensor.from([0, -0, 0.1, Number.NaN]).astype('bool')], [false, false, true, true]);
    using complex = Tensor.from([{ re: 1.5, im: -2 }, 3, { re: 0, im: 1 }]);
    equal(complex.dtype, 'complex128');
    equal([...complex.astype('float32')], [1.5, 3, 0]);
    equal([...complex.astype('bool')], [true, true, true]);
    equal(complex.astype('complex32').get(0), { re: 1.5, im: -2 });
    using brain = complex.astype('bcomplex32');
    equal([...brain.data], [0x3fc0, 0xc000, 0x4040, 0, 0, 0x3f80]);
    equal(brain.toArray(), [...complex]);
    brain.set(0, { re: 1.01, im: 1e39 });
    equal(brain.get(0), { re: 1.0078125, im: Number.POSITIVE_INFINITY });
    equal([...brain.astype('int8')], [1, 3, 0]);
    using stale = Tensor.from([{ re: 7, im: 7 }]);
    stale.copyFrom(Tensor.from([2n]));
    equal(stale.item(), { re: 2, im: 0 });
    using lanes = Tensor.from(
      [
        [1.5, -2.5],
        [300, 4],
      ],
      { dtype: 'float32x2' },
    );
    equal(lanes.astype('int8x2').toArray(), [
      [1, -2],
      [127, 4],
    ]);
    equal(lanes.astype('complex64x2').get(0), [
      { re: 1.5, im: 0 },
      { re: -2.5, im: 0 },
    ]);
    throws('UnsupportedDTypeError', '2 lanes', () => lanes.astype('float64'));
    using quad = Tensor.zeros([2], 'float128');
    equal(quad.copy().nbytes, 32);
    throws('UnsupportedDTypeError', 'float128', () => quad.astype('float64'));
  });

  test(`${core}: set refuses values that an integer type cannot hold`, () => {
    for (const [dtype, low, high] of ranges) {
      using tensor = Tensor.zeros([1], dtype);
      tensor.set(0, low as never);
      equal(tensor.item(), low, dtype);
      tensor.set(0, high as never);
      const above = typeof high === 'bigint' ? high + 1n : high + 1;
      const below = typeof low === 'bigint' ? low - 1n : low - 1;
      for (const wrong of [above, below, 0.5, Number.NaN, Infinity]) {
        throws('ValueError', dtype, () => tensor.set(0, wrong as never));
        throws('ValueError', dtype, () => tensor.fill(wrong as never));
        throws('ValueError', dtype, () => Tensor.from([wrong], { dtype }));
      }
      equal(tensor.item(), high, dtype);
    }
  });

  test(`${core}: dtypes of nested values`, () => {
    const dtypeOf = (source: unknown) => Tensor.from(source as number[]).dtype as string;
    equal(dtypeOf([1, 2.5]), 'float64');
    equal(dtypeOf([]), 'float64');
    equal(dtypeOf([[true], [false]]), 'bool');
    equal(dtypeOf([1n, -1n]), 'int64');
    equal(dtypeOf([2n ** 64n - 1n]), 'uint64');
    equal(dtypeOf([{ re: 1, im: 2 }, 3]), 'complex128');
    equal(dtypeOf(new Int16Array(2)), 'int16');
    equal(dtypeOf(Tensor.zeros([1], 'int4')), 'int4');
    throws('TypeError', 'one type', () => Tensor.from([1, 2n] as number[]));
    throws('TypeError', 'numbers, bigints', () => Tensor.from(['1'] as unknown as number[]));
    throws('LayoutError', 'equal length', () => Tensor.from([[1], [2, 3]]));
  });

  test(`${core}: copyFromAsync does what copyFrom does, and holds both tensors meanwhile`, async () => {
    const target = Tensor.zeros([2, 3], 'int16');
    const source = Tensor.from([1.5, 2.5, 40000]);
    const copied = target.copyFromAsync(source);
    const shared = target.share();
    source.dispose();
    target.dispose();
    equal((await copied) === target, true);
    equal(
      shared.toArray(),
      Tensor.zeros([2, 3], 'int16')
        .copyFrom(Tensor.from([1.5, 2.5, 40000]))
        .toArray(),
    );
    const line = Tensor.from([1, 2, 3, 4]);
    await line.slice([1, null]).copyFromAsync(line.slice([null, 3]));
    equal(line.toArray(), [1, 1, 2, 3]);
    await rejects('LayoutError', 'shape', line.copyFromAsync(Tensor.from([1, 2])));
    await rejects('TypeError', 'source', line.copyFromAsync([1] as never));
  });

  test(`${core}: copyFrom repeats, converts and reads before it writes`, () => {
    using target = Tensor.zeros([2, 3], 'int16');
    equal(target.copyFrom(Tensor.from([1.5, 2.5, 40000])).toArray(), [
      [1, 2, 32767],
      [1, 2, 32767],
    ]);
    using line = Tensor.from([0, 1, 2, 3, 4, 5, 6, 7]);
    line.slice([1, 8]).copyFrom(line.slice([0, 7]));
    equal(line.toArray(), [0, 0, 1, 2, 3, 4, 5, 6]);
    line.copyFrom(line.flip());
    equal(line.toArray(), [6, 5, 4, 3, 2, 1, 0, 0]);
    const buffer = new Float32Array([1, 2, 3, 4]);
    Tensor.wrap(buffer)
      .slice([1, 4])
      .copyFrom(Tensor.wrap(buffer).slice([0, 3]));
    equal([...buffer], [1, 1, 2, 3]);
    throws('LayoutError', 'several indices share one', () => Tensor.from([1]).broadcastTo([4]).copyFrom(line));
    throws('LayoutError', '', () => target.copyFrom(Tensor.zeros([4], 'int8')));
    const frozen = Tensor.wrap(buffer, { readonly: true });
    throws('ReadOnlyError', 'copyFrom', () => frozen.copyFrom(line));
    throws('ReadOnlyError', 'fill', () => frozen.fill(1));
  });

  test(`${core}: contiguous() shares packed memory and copies other memory`, () => {
    using tensor = Tensor.from([
      [1, 2],
      [3, 4],
    ]);
    tensor.contiguous().set(0, 0, 9);
    equal(tensor.get(0, 0), 9);
    using turned = tensor.transpose().contiguous();
    turned.set(0, 0, 5);
    equal(tensor.get(0, 0), 9);
    equal(turned.toArray(), [
      [5, 3],
      [2, 4],
    ]);
    using nibbles = Tensor.from([1, 2, 3, 4, 5], { dtype: 'int4' });
    const inside = nibbles.slice([1, 5]);
    ok(!inside.contiguous().isDisposed);
    equal(inside.contiguous().byteOffset, 0);
    equal([...inside.contiguous().data], [0x32, 0x54]);
  });

  test(`${core}: packed and padded convert into each other`, () => {
    using packed = Tensor.from([1, -2, 3, -4, 5], { dtype: 'int4' });
    using padded = Tensor.empty([5], 'int4', { padded: true });
    padded.copyFrom(packed);
    equal([packed.nbytes, padded.nbytes], [3, 5]);
    equal([...padded.data], [1, 14, 3, 12, 5]);
    equal(packed.fill(0).copyFrom(padded.flip()).toArray(), [5, -4, 3, -2, 1]);
    ok(padded.astype('uint4').isPadded && !padded.astype('int8').isPadded);
  });
}

test('toArray and JSON of more values and arrays than an engine can hold', () => {
  for (const [, { Tensor }] of cores) {
    // No bytes, but one array for each row. A file of 128 bytes can have such a shape.
    for (const shape of [
      [2 ** 33, 0],
      [1e9, 0],
      [2 ** 25, 0],
      [2 ** 20, 2 ** 6, 0],
      [2 ** 24, 1, 1, 0],
    ]) {
      using empty = Tensor.empty(shape, 'float32');
      throws('LayoutError', `values and arrays but the shape [${shape.join(', ')}]`, () => empty.toArray());
      throws('LayoutError', 'use data, get() or a slice()', () => JSON.stringify({ empty }));
      equal(empty.transpose().toArray(), []);
    }
    const one = Tensor.wrap(new Uint8Array(1));
    throws('LayoutError', 'slice()', () => one.broadcastTo([2, 2 ** 32]).toArray());
    throws('LayoutError', 'slice()', () => one.broadcastTo([2 ** 25]).toArray());
    throws('LayoutError', 'slice()', () => one.broadcastTo([2 ** 22, ...new Array(8).fill(1)]).toArray());
    const wide = Tensor.wrap(new Uint8Array(1024), { dtype: 'uint8x1024', shape: [1] });
    throws('LayoutError', 'slice()', () => wide.broadcastTo([2 ** 16]).toArray());
    equal((one.broadcastTo([1 << 20]).toArray() as number[]).length, 1 << 20);
    equal((Tensor.empty([1000, 0], 'int8').toArray() as unknown[][]).flat(), []);
  }
});

test('float16 data is a Float16Array where the runtime has one, and raw bits elsewhere', () => {
  const [, { Tensor }] = cores[0] as (typeof cores)[number];
  using half = Tensor.from([1, -2], { dtype: 'float16' });
  const hasFloat16 = 'Float16Array' in globalThis;
  equal(half.data.constructor.name, hasFloat16 ? 'Float16Array' : 'Uint16Array');
  equal([...half.data], hasFloat16 ? [1, -2] : [0x3c00, 0xc000]);
});
