/**
 * The entries of a `__cuda_array_interface__` as JavaScript values. Each entry is read once and converted to its type.
 */

import { ArgumentTypeError, ArgumentValueError, isUsable, LayoutError } from '../../errors.js';
import { MAX_NDIM } from '../../layout.js';
import type { ArrayEntries } from '../../storage/foreign.js';
import { parseTypeString } from './typestr.js';

/** The CUDA Array Interface of an array, as a JavaScript object. Every number may be a bigint. */
export interface CudaArrayInterface {
  /** The lengths of the axes. */
  readonly shape: readonly (number | bigint)[];
  /** NumPy's type string, such as `'<f4'`. */
  readonly typestr: string;
  /** The address (0 for an array without elements), and whether the memory is read-only. */
  readonly data: readonly [pointer: number | bigint, readonly: boolean];
  /** The version, 0 to 3. Newer versions are read as version 3. */
  readonly version: number | bigint;
  /** Bytes from one element to the next on each axis; null or absent: row-major. */
  readonly strides?: readonly (number | bigint)[] | null;
  /** NumPy's description of a record. */
  readonly descr?: readonly unknown[] | null;
  /** Another array that marks which elements are valid. Since version 1. */
  readonly mask?: unknown;
  /** The stream that produces the data: 1, 2, or a handle; null or absent: the data is ready. Since version 3. */
  readonly stream?: number | bigint | null;
}

/** The first version with `stream`. */
const STREAM_VERSION = 3;

function integer(value: unknown, argument: string): number {
  const number = typeof value === 'bigint' ? Number(value) : value;
  if (typeof number !== 'number') throw new ArgumentTypeError(argument, 'an integer', value);
  if (!Number.isSafeInteger(number)) throw new ArgumentValueError(argument, 'an integer of at most 2^53 - 1', value);
  return number;
}

function integers(values: unknown, argument: string): readonly number[] {
  if (!Array.isArray(values)) throw new ArgumentTypeError(argument, 'an array of integers', values);
  const { length } = values;
  if (!(Number.isInteger(length) && length <= MAX_NDIM)) {
    throw new LayoutError(`Expected at most ${MAX_NDIM} axes for ${argument} but received ${length}`);
  }
  const copy = new Array<number>(length);
  for (let i = 0; i < length; i++) copy[i] = integer(values[i], `${argument}[${i}]`);
  return copy;
}

function unsigned(value: unknown, argument: string, expected: string): bigint {
  if (typeof value !== 'bigint' && typeof value !== 'number') throw new ArgumentTypeError(argument, expected, value);
  if (typeof value === 'number' && !Number.isSafeInteger(value))
    throw new ArgumentValueError(argument, expected, value);
  const number = BigInt(value);
  if (BigInt.asUintN(64, number) !== number) throw new ArgumentValueError(argument, expected, value);
  return number;
}

function readData(data: unknown): { pointer: bigint; isReadOnly: boolean } {
  if (!Array.isArray(data)) throw new ArgumentTypeError('data', '[pointer, readonly]', data);
  if (data.length !== 2) throw new ArgumentValueError('data', 'two entries, [pointer, readonly],', data);
  const [address, isReadOnly] = data as unknown[];
  const pointer = unsigned(address, 'data[0]', 'an unsigned 64-bit address');
  if (typeof isReadOnly !== 'boolean') throw new ArgumentTypeError('data[1]', 'a boolean', isReadOnly);
  return { pointer, isReadOnly };
}

function readVersion(value: unknown): number {
  const version = integer(value, 'version');
  if (version < 0) throw new ArgumentValueError('version', 'a version of zero or more', value);
  return version;
}

function readStream(stream: unknown, version: number): bigint | null {
  if (version < STREAM_VERSION || stream === null || stream === undefined) return null;
  const expected = '1 (the legacy default stream), 2 (the default stream of a thread), a handle or null';
  const handle = unsigned(stream, 'stream', expected);
  if (handle === 0n) throw new ArgumentValueError('stream', `${expected}; 0 is ambiguous and forbidden`, stream);
  return handle;
}

/**
 * Counts the bits of the fields of a record. A field is `[name, type]` or `[name, type, shape]`, and its type is a type
 * string or nested fields.
 */
function bitsOf(fields: readonly unknown[]): number {
  let bits = 0;
  for (const field of fields) {
    if (!Array.isArray(field) || field.length < 2 || field.length > 3) {
      throw new ArgumentValueError('descr', 'fields of a name, a type and perhaps a shape', field);
    }
    const [, type, shape] = field as [name: unknown, type: unknown, shape?: unknown];
    const item = Array.isArray(type) ? bitsOf(type) : parseTypeString(type as string).itemBits;
    bits += shape === undefined ? item : integers(shape, 'descr').reduce((product, length) => product * length, item);
  }
  return bits;
}

/** Checks that a description repeats the type string, or names the fields of raw bytes of that size. */
function checkDescr(descr: unknown, typestr: string): void {
  if (descr === null || descr === undefined) return;
  if (!Array.isArray(descr)) throw new ArgumentTypeError('descr', 'an array of fields or null', descr);
  const { kind, byteOrder, itemBits } = parseTypeString(typestr);
  const [name, type, shape] = (descr.length === 1 && Array.isArray(descr[0]) ? descr[0] : []) as unknown[];
  if (name === '' && typeof type === 'string' && shape === undefined) {
    const other = parseTypeString(type);
    if (other.kind === kind && other.byteOrder === byteOrder && other.itemBits === itemBits) return;
  } else if (kind === 'V' && bitsOf(descr) === itemBits) return;
  throw new ArgumentValueError('descr', `a description of '${typestr}', as typestr says,`, type ?? descr);
}

/** Reads an interface. Getters of the object run only here, once each. */
export function readEntries(source: unknown): ArrayEntries {
  if (!isUsable(source)) {
    throw new ArgumentTypeError('__cuda_array_interface__', 'an object with shape, typestr, data and version', source);
  }
  const {
    shape,
    typestr,
    data,
    version: offeredVersion,
    strides,
    descr,
    mask,
    stream,
  } = source as Record<string, unknown>;
  const version = readVersion(offeredVersion);
  if (typeof typestr !== 'string') throw new ArgumentTypeError('typestr', 'a type string such as "<f4"', typestr);
  checkDescr(descr, typestr);
  return {
    shape: integers(shape, 'shape'),
    typestr,
    ...readData(data),
    version,
    strides: strides === null || strides === undefined ? null : integers(strides, 'strides'),
    stream: readStream(stream, version),
    mask: mask ?? null,
  };
}
