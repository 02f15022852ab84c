/** Values for casts on a device, and their results on the host. */

import { type BaseDType, Tensor } from 'dlpack';
import { equal } from '../assert.js';
import { randomFrom } from '../random.js';

const bytes: readonly BaseDType[] = [
  'float8_e3m4',
  'float8_e4m3',
  'float8_e4m3b11fnuz',
  'float8_e4m3fn',
  'float8_e4m3fnuz',
  'float8_e5m2',
  'float8_e5m2fnuz',
];
const wide: readonly BaseDType[] = ['float16', 'bfloat16', 'float32'];

/** Pairs of types that a kernel converts. Sources of one byte may have any type, and targets of them too. */
export const castPairs: readonly (readonly [BaseDType, BaseDType])[] = [
  ...wide.flatMap((from) => [...wide, ...bytes].map((to) => [from, to] as const)),
  ...bytes.flatMap((from) => [...wide, ...bytes].map((to) => [from, to] as const)),
  ...(['int32', 'uint16', 'bool', 'float8_e8m0fnu'] as const).map((to) => ['float8_e4m3fn', to] as const),
  ...(['int8', 'uint8', 'bool', 'float8_e8m0fnu'] as const).map((from) => [from, 'float32'] as const),
].filter(([from, to]) => from !== to);

/** A tensor with these bits. */
function withBits(dtype: BaseDType, units: Uint8Array | Uint16Array | Uint32Array): Tensor {
  const tensor = Tensor.empty([units.length], dtype);
  const { buffer, byteOffset } = tensor.unsafeData();
  new Uint8Array(buffer, byteOffset, tensor.nbytes).set(new Uint8Array(units.buffer, units.byteOffset, tensor.nbytes));
  return tensor;
}

/** All values of a type of one or two bytes. */
function allValues(dtype: BaseDType, size: 1 | 2): Tensor {
  return withBits(
    dtype,
    size === 1 ? Uint8Array.from({ length: 256 }, (_, i) => i) : Uint16Array.from({ length: 65536 }, (_, i) => i),
  );
}

/** float32 numbers around every value of a type and around the middle between two, and others. */
function around(to: BaseDType, step: number): Tensor {
  const size = bytes.includes(to) ? 1 : 2;
  const values = [...(allValues(to, size).astype('float64') as Iterable<unknown> as Iterable<number>)];
  const finite = values.filter((value) => Number.isFinite(value)).sort((a, b) => a - b);
  const bits: number[] = [];
  const word = new Uint32Array(1);
  const single = new Float32Array(word.buffer);
  const add = (value: number): void => {
    single[0] = value;
    const at = word[0] as number;
    bits.push(at, at + 1, Math.max(0, at - 1));
  };
  for (let i = 0; i < finite.length; i += step) {
    const [value, next] = [finite[i] as number, finite[i + 1] ?? (finite[i] as number) * 1.5];
    add(value);
    add((value + next) / 2);
  }
  const largest = finite.at(-1) as number;
  for (const value of [
    0,
    -0,
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
    largest * 1.03125,
    largest * 1.0625,
    largest * 1.125,
    largest * 2,
    3e38,
  ]) {
    add(value);
    add(-value);
  }
  bits.push(0x7fc00000, 0xffc00000, 0x7f800001, 0x7fffffff, 0xffffffff, 1, 0x007fffff, 0x00800000);
  const random = randomFrom(17).bytes(4096);
  bits.push(...new Uint32Array(random.buffer, random.byteOffset, 1024));
  return withBits('float32', Uint32Array.from(bits));
}

/** `step`: how many values of a type of two bytes lie between two that float32 numbers are made for. */
export function castValues([from, to]: readonly [BaseDType, BaseDType], step: number): Tensor {
  if (from === 'float32') return around(to, to === 'float16' || to === 'bfloat16' ? step : 1);
  return allValues(from, from === 'float16' || from === 'bfloat16' ? 2 : 1);
}

export function bytesOf(tensor: Tensor): Uint8Array {
  const { buffer, byteOffset } = tensor.unsafeData();
  return new Uint8Array(buffer, byteOffset, tensor.nbytes).slice();
}

/** The cast on the device gives the bits of the cast on the host. */
export function compareCast(pair: readonly [BaseDType, BaseDType], values: Tensor): void {
  using there = values.to('cuda:0');
  using cast = there.astype(pair[1]);
  equal([cast.device, cast.dtype], ['cuda:0', pair[1]]);
  using back = cast.to('cpu');
  using host = values.astype(pair[1]);
  const [found, wanted] = [bytesOf(back), bytesOf(host)];
  const size = found.length / values.size;
  const at = found.findIndex((byte, i) => byte !== wanted[i]);
  if (at >= 0) {
    const i = Math.floor(at / size);
    const hex = (all: Uint8Array): string => Buffer.from(all.slice(i * size, (i + 1) * size).reverse()).toString('hex');
    equal(`${String(values.get(i))}: ${hex(found)}`, `${String(values.get(i))}: ${hex(wanted)}`, pair.join(' to '));
  }
}

/** Images of bytes, their scales and offsets, and the views that a program casts: what every image model begins with. */
const scaledViews: readonly (readonly [string, (x: Tensor) => Tensor, number])[] = [
  ['rows, columns, channels', (x) => x.slice(0), 2],
  ['channels first', (x) => x.slice(0).transpose([2, 0, 1]), 0],
  ['a batch, channels first', (x) => x.transpose([0, 3, 1, 2]), 1],
  ['a batch, channels last', (x) => x.reshape([...x.shape]), 3],
  ['every second column', (x) => x.slice([0, 2], [0, 40], [0, 32, 2]).transpose([3, 0, 1, 2]), 0],
];

/** Random bits, so among floats also infinities, NaN and numbers below the smallest normal one. */
function scaledValues(from: BaseDType): Tensor {
  const count = 2 * 40 * 32 * 3;
  const whole = Uint8Array.from({ length: count }, (_, i) => (i * 7 + (i >> 8)) & (from === 'bool' ? 1 : 255));
  if (!wide.includes(from)) return withBits(from, whole);
  const random = randomFrom(23).bytes(4 * count);
  const units = from === 'float32' ? Uint32Array : Uint16Array;
  return withBits(from, new units(random.buffer, random.byteOffset, count));
}

/** Casts with a scale on the device give the bits of the host's. */
export function compareScaled(from: BaseDType, to: BaseDType): void {
  const [scale, offset] = [
    [1 / 58.395, 0.0171, 1 / 57.375],
    [-2.1179, 0, 1e-3],
  ];
  using host = scaledValues(from).reshape([2, 40, 32, 3]);
  using there = host.to('cuda:0');
  for (const [name, view, axis] of scaledViews) {
    for (const options of [
      { scale, offset, axis },
      { scale, axis },
      { offset: 3, scale: 0.5 },
    ]) {
      using here = view(host as Tensor).astype(to, options);
      using cast = view(there as Tensor).astype(to, options);
      equal([cast.device, cast.dtype, cast.shape], ['cuda:0', to, here.shape], name);
      using back = cast.to('cpu');
      equal(Buffer.compare(bytesOf(back), bytesOf(here)), 0, `${from} to ${to}: ${name}`);
    }
  }
}

/** Types of one byte, and floats, and what they are scaled to. */
export const scaledPairs: readonly (readonly [BaseDType, BaseDType])[] = [
  ...wide.flatMap((from) =>
    [...wide, 'float8_e4m3fn' as const, 'float8_e5m2fnuz' as const].map((to) => [from, to] as const),
  ),
  ['uint8', 'float32'],
  ['uint8', 'float16'],
  ['uint8', 'uint8'],
  ['int8', 'bfloat16'],
  ['bool', 'float32'],
  ['float8_e4m3fn', 'float32'],
];
