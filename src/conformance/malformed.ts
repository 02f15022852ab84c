/** Managed tensors that break a rule of section 3 or 4, and unusual ones that break none, as tables. */

import type { Level } from './case.js';
import { needGlobals } from './environment.js';
import { absent, type Changes } from './probe.js';

/** The rule for each field. */
const rules: Readonly<Record<string, string>> = {
  version: '3.2',
  flags: '3.3',
  data: '3.4',
  byteOffset: '3.5',
  shape: '3.6',
  axes: '3.6',
  strides: '3.7',
  dtype: '3.8',
  device: '3.9',
  deleter: '3.10',
};

/** A managed tensor of two rows of three float32, changed as named. */
export interface Variant {
  readonly id: string;
  /** The rule of docs/spec.md. */
  readonly section: string;
  readonly title: string;
  readonly level: Level;
  /** Makes the changes anew for each use. */
  changes(): Changes;
}

const variant = (id: string, title: string, changes: () => Changes, level: Level = 'must'): Variant => ({
  id,
  section: rules[id.split('.')[0] as string] as string,
  title,
  level,
  changes,
});
const should = 'should';

const dtype = (code: unknown, bits: unknown, lanes: unknown = 1) => ({ dtype: { code, bits, lanes } });
const f32 = { code: 2, bits: 32, lanes: 1 };

function detached(): ArrayBuffer {
  needGlobals('structuredClone');
  const buffer = new ArrayBuffer(24);
  structuredClone(buffer, { transfer: [buffer] });
  return buffer;
}

/** An object that claims to be a buffer. */
const disguised = (): object =>
  Object.create(ArrayBuffer.prototype, { [Symbol.toStringTag]: { value: 'ArrayBuffer' }, byteLength: { value: 24 } });

const throwing = (): object => ({
  get code(): number {
    throw new EvalError('a getter of the producer');
  },
});

export const malformed: readonly Variant[] = [
  variant('version.2', 'of DLPack 2', () => ({ version: [2, 0] })),
  variant('version.0', 'of DLPack 0', () => ({ version: [0, 8] })),
  variant('version.missing', 'without a version', () => ({ version: absent })),
  variant('version.null', 'with version null', () => ({ version: null })),
  variant('version.string', 'with a string as version', () => ({ version: '1.3' })),
  variant('version.nan', 'with NaN in its version', () => ({ version: [Number.NaN, 0] })),
  variant('version.fraction', 'with a fraction in its version', () => ({ version: [1.5, 0] })),
  variant('version.short', 'without a minor version', () => ({ version: [1] })),
  variant('version.negative', 'with a negative minor version', () => ({ version: [1, -1] })),
  variant('version.long', 'with a version of three numbers', () => ({ version: [1, 3, 0] })),
  variant('version.bigint', 'with a version of bigints', () => ({ version: [1n, 3n] })),
  variant('flags.nan', 'with NaN as flags', () => ({ flags: Number.NaN })),
  variant('flags.fraction', 'with a fraction as flags', () => ({ flags: 0.5 })),
  variant('flags.missing', 'without flags', () => ({ flags: absent })),
  variant('flags.string', 'with a string as flags', () => ({ flags: '1' })),
  variant('flags.boolean', 'with a boolean as flags', () => ({ flags: true })),
  variant('flags.negative', 'with negative flags', () => ({ flags: -1 })),
  variant('flags.bigint.negative', 'with a negative bigint as flags', () => ({ flags: -1n })),
  variant('flags.bigint.wide', 'with flags of more than 64 bits', () => ({ flags: 2n ** 64n })),
  variant('data.missing', 'without data', () => ({ data: absent })),
  variant('data.null', 'with data null', () => ({ data: null })),
  variant('data.view', 'with a typed array as data', () => ({ data: new Uint8Array(24) })),
  variant('data.dataview', 'with a DataView as data', () => ({ data: new DataView(new ArrayBuffer(24)) })),
  variant('data.fake', 'with an object that has a byteLength', () => ({ data: { byteLength: 1e9 } })),
  variant('data.disguised', 'with an object of the prototype of ArrayBuffer', () => ({ data: disguised() })),
  variant('data.number', 'with a number as data', () => ({ data: 4096 })),
  variant('data.short', 'with a buffer that is too short', () => ({ data: new ArrayBuffer(23) })),
  variant('data.empty', 'with an empty buffer for six elements', () => ({ data: new ArrayBuffer(0) })),
  variant('data.detached', 'with a detached buffer', () => ({ data: detached() })),
  variant('byteOffset.missing', 'without a byteOffset', () => ({ byteOffset: absent })),
  variant('byteOffset.negative', 'with a negative byteOffset', () => ({ byteOffset: -4 })),
  variant('byteOffset.fraction', 'with a fraction as byteOffset', () => ({ byteOffset: 0.5 })),
  variant('byteOffset.bigint', 'with a bigint as byteOffset', () => ({ byteOffset: 0n })),
  variant('byteOffset.nan', 'with NaN as byteOffset', () => ({ byteOffset: Number.NaN })),
  variant('byteOffset.unsafe', 'with a byteOffset of 2^53', () => ({ byteOffset: 2 ** 53 })),
  variant('byteOffset.outside', 'with a byteOffset that moves the last element out of data', () => ({ byteOffset: 4 })),
  variant('byteOffset.empty', 'without elements, with a byteOffset past data', () => ({
    shape: [0, 3],
    byteOffset: 1024,
  })),
  variant('shape.missing', 'without a shape', () => ({ shape: absent })),
  variant('shape.null', 'with shape null', () => ({ shape: null })),
  variant('shape.negative', 'with a negative length', () => ({ shape: [2, -3] })),
  variant('shape.fraction', 'with a fraction as length', () => ({ shape: [2, 1.5] })),
  variant('shape.bigint', 'with a bigint as length', () => ({ shape: [2n, 3n] })),
  variant('shape.string', 'with a string as shape', () => ({ shape: '23' })),
  variant('shape.strings', 'with strings as lengths', () => ({ shape: ['2', '3'] })),
  variant('shape.nan', 'with NaN as length', () => ({ shape: [2, Number.NaN] })),
  variant('shape.infinite', 'with an infinite length', () => ({ shape: [2, Number.POSITIVE_INFINITY] })),
  variant('shape.unsafe', 'with a length of 2^53', () => ({ shape: [2 ** 53, 1], strides: [0, 0] })),
  variant('shape.overflow', 'whose size in bytes overflows', () => ({ shape: [2 ** 31, 2 ** 31], strides: [1, 1] })),
  variant('shape.product', 'with more elements than a safe integer counts', () => ({
    shape: [2 ** 40, 2 ** 40],
    strides: [0, 0],
  })),
  variant('shape.zero', 'without elements, whose other lengths are too many elements', () => ({
    shape: [2 ** 40, 2 ** 40, 0],
    strides: [0, 0, 0],
  })),
  variant('shape.hole', 'with a hole in its shape', () => ({ shape: new Array(2) })),
  variant('shape.outside', 'with more rows than data has', () => ({ shape: [3, 3] })),
  variant('shape.length', 'with three lengths and two strides', () => ({ shape: [1, 2, 3] })),
  variant('shape.typed', 'with a typed array as shape', () => ({ shape: new Int32Array([2, 3]) })),
  variant('shape.arraylike', 'with an array-like object as shape', () => ({ shape: { length: 2, 0: 2, 1: 3 } })),
  variant('strides.short', 'with too few strides', () => ({ strides: [3] })),
  variant('strides.long', 'with too many strides', () => ({ strides: [6, 3, 1] })),
  variant('strides.fraction', 'with a fraction as stride', () => ({ strides: [3, 0.5] })),
  variant('strides.bigint', 'with bigints as strides', () => ({ strides: [3n, 1n] })),
  variant('strides.string', 'with a string as strides', () => ({ strides: '31' })),
  variant('strides.before', 'with elements before data', () => ({ strides: [-3, 1] })),
  variant('strides.far', 'with elements far behind data', () => ({ strides: [2 ** 40, 1] })),
  variant('strides.unsafe', 'with a stride of 2^53', () => ({ strides: [2 ** 53, 1] })),
  variant('strides.sum', 'whose strides together leave data', () => ({ strides: [4, 1] })),
  variant('strides.cancel', 'whose strides cancel out only at the last element', () => ({ strides: [1000, -500] })),
  variant('strides.typed', 'with a typed array as strides', () => ({ strides: new Int32Array([3, 1]) })),
  variant('dtype.missing', 'without a dtype', () => ({ dtype: absent })),
  variant('dtype.string', 'with a string as dtype', () => ({ dtype: 'float32' })),
  variant('dtype.code', 'with an unknown type code', () => dtype(99, 32)),
  variant('dtype.bits', 'with a float of 24 bits', () => dtype(2, 24)),
  variant('dtype.bits0', 'with elements of no bits', () => dtype(2, 0)),
  variant('dtype.lanes0', 'with elements of no lanes', () => dtype(2, 32, 0)),
  variant('dtype.narrow', 'with a 4-bit float of 8 bits', () => dtype(17, 8)),
  variant('dtype.bool1', 'with booleans of one bit', () => dtype(6, 1)),
  variant('dtype.lanes', 'with more lanes than 65535', () => dtype(2, 32, 65536)),
  variant('dtype.bigint', 'with bigints in its dtype', () => dtype(2n, 32n, 1n)),
  variant('dtype.getter', 'whose dtype throws when it is read', () => ({ dtype: throwing() })),
  variant('device.missing', 'without a device', () => ({ device: absent })),
  variant('device.0', 'on a device of type 0', () => ({ device: { type: 0, id: 0 } })),
  variant('device.99', 'on a device of an unknown type', () => ({ device: { type: 99, id: 0 } })),
  variant('device.cuda', 'with a buffer on a CUDA device', () => ({ device: { type: 2, id: 0 } })),
  variant('device.webgpu', 'with a buffer on a WebGPU device', () => ({ device: { type: 15, id: 0 } })),
  variant('device.tuple', 'with an array as device', () => ({ device: [1, 0] })),
  variant('device.noid', 'with a device without an id', () => ({ device: { type: 1 } })),
  variant('device.id.fraction', 'with a fraction as device id', () => ({ device: { type: 1, id: 0.5 } })),
  variant('device.id.negative', 'with a negative device id', () => ({ device: { type: 1, id: -1 } })),
  variant('device.string', 'with a string as device', () => ({ device: 'cpu' })),
];

/** A deleter that cannot be called: an error, and nothing can be released. */
export const badDeleters: readonly Variant[] = [
  variant('deleter.number', 'with a number as deleter', () => ({ deleter: 1 })),
  variant('deleter.object', 'with an object as deleter', () => ({ deleter: {} })),
];

const axes = (count: number): Changes => ({
  shape: [...new Array<number>(count - 2).fill(1), 2, 3],
  strides: [...new Array<number>(count - 2).fill(6), 3, 1],
});

/** Hands the elements of the matrix over in another place or buffer. */
const moved = (length: number, make: (length: number) => ArrayBufferLike) => (): Changes => {
  const data = make(length);
  new Uint8Array(data).set(Uint8Array.from({ length: 24 }, (_, i) => (37 * i + 11) & 0x3f));
  return { data };
};

const resizable = (length: number): ArrayBuffer =>
  new (ArrayBuffer as new (length: number, options: { maxByteLength: number }) => ArrayBuffer)(length, {
    maxByteLength: 4 * length,
  });

const growable = (length: number): SharedArrayBuffer =>
  new (SharedArrayBuffer as new (length: number, options: { maxByteLength: number }) => SharedArrayBuffer)(length, {
    maxByteLength: 4 * length,
  });

/** Unusual managed tensors with the elements of the matrix, which a consumer takes. */
export const unusual: readonly Variant[] = [
  variant('flags.bigint', 'with a bigint as flags', () => ({ flags: 0n })),
  variant('flags.unknown', 'with unknown flags', () => ({ flags: 2 ** 20 })),
  variant('flags.unknown.bigint', 'with unknown flags in a bigint', () => ({ flags: 2n ** 63n })),
  variant('flags.2^40', 'with unknown flags above 32 bits', () => ({ flags: 2 ** 40 })),
  variant('version.minor', 'of an unknown minor version', () => ({ version: [1, 99] })),
  variant('version.1.0', 'of DLPack 1.0', () => ({ version: [1, 0] })),
  variant('deleter.null', 'with deleter null', () => ({ deleter: null })),
  variant('deleter.absent', 'without a deleter', () => ({ deleter: absent })),
  variant(
    'data.larger',
    'in a larger buffer',
    moved(64, (length) => new ArrayBuffer(length)),
  ),
  variant(
    'data.shared',
    'in shared memory',
    moved(24, (length) => new SharedArrayBuffer(length)),
  ),
  variant('data.resizable', 'in a resizable buffer', moved(24, resizable)),
  variant('data.growable', 'in shared memory that can grow', moved(24, growable)),
  variant('device.cudaHost', 'in pinned memory of CUDA', () => ({ device: { type: 3, id: 0 } })),
  variant('device.rocmHost', 'in pinned memory of ROCm', () => ({ device: { type: 11, id: 0 } })),
  variant('device.managed', 'in managed memory of CUDA', () => ({ device: { type: 13, id: 0 } })),
  variant('device.tpuHost', 'in pinned host memory of a TPU', () => ({ device: { type: 20, id: 0 } }), should),
  variant('device.hostId', 'on a host device with another id', () => ({ device: { type: 1, id: 3 } })),
  variant('axes.32', 'of 32 axes', () => axes(32)),
  variant('axes.64', 'of 64 axes', () => axes(64)),
  variant('strides.null', 'with strides null, as row-major', () => ({ strides: null }), should),
  variant('strides.absent', 'without strides, as row-major', () => ({ strides: absent }), should),
  variant('shape.empty', 'without elements, with a long axis', () => ({ shape: [2 ** 52, 0], strides: [1, 1] })),
  variant('strides.unused', 'with any stride at an axis of length one', () => ({
    shape: [1, 2, 3],
    strides: [2 ** 40, 3, 1],
  })),
  variant('dtype.unknown', 'with more fields in its dtype', () => ({ dtype: { ...f32, name: 'float32' } })),
];
