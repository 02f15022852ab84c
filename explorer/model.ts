/** A tensor and its memory. All arithmetic is the package's own: nothing here computes a stride. */

import { type DType, type DTypeInfo, parseDType, sizeBytes, Tensor } from 'dlpack';
import { FormError, parseCalls } from './calls.js';
import type { State } from './state.js';

/** More than a page can show. */
const MAX_BYTES = 4096;
const MAX_ELEMENTS = 1024;

export interface Model {
  readonly tensor: Tensor;
  readonly dtype: DTypeInfo;
  /** The bytes of its storage. Writing here changes the tensor. */
  readonly bytes: Uint8Array;
  /** The number of elements in memory. */
  readonly room: number;
  /** Bits from one element in memory to the next. */
  readonly step: number;
  /** All indices, in row-major order. */
  readonly indices: readonly (readonly number[])[];
  /** For each of them, the number of its element in memory. */
  readonly places: readonly number[];
  /** False after a call that copied: the memory is no longer that of the form. */
  readonly isFirstMemory: boolean;
  /** The calls that copied. */
  readonly copies: readonly string[];
}

const numbersOf = (text: string): number[] => (text.trim() === '' ? [] : text.split(',').map((part) => Number(part)));

/** The memory of the form, with 0, 1, 2 and so on as far as the dtype goes, or with the bytes of the reader. */
function fill(bytes: Uint8Array, info: DTypeInfo, room: number, state: State): void {
  if (state.bytes !== '') {
    bytes.set((state.bytes.match(/../g) ?? []).slice(0, bytes.length).map((pair) => Number.parseInt(pair, 16)));
    return;
  }
  if (info.base === 'float128' || info.base === 'handle' || info.lanes > 1) return;
  const target = Tensor.wrap(bytes, { dtype: info.name, shape: [room], padded: state.padded });
  target.copyFrom(Tensor.arange(room, 'int32'));
}

/** Follows the calls twice: with the elements, and with the numbers of their places in memory. */
export function build(state: State): Model {
  const info = parseDType(state.dtype as DType);
  const shape = numbersOf(state.shape);
  const strides = state.strides.trim() === '' ? undefined : numbersOf(state.strides);
  const size = shape.reduce((product, length) => product * Math.abs(length), 1);
  const room = state.memory.trim() === '' ? (Number.isSafeInteger(size) ? size : 0) : Number(state.memory);
  const byteLength = sizeBytes(info, room, state.padded);
  if (byteLength > MAX_BYTES)
    throw new FormError(`The explorer shows up to ${MAX_BYTES} bytes, and these are ${byteLength}`);
  let bytes = new Uint8Array(byteLength);
  fill(bytes, info, room, state);
  const layout = strides === undefined ? { shape } : { shape, strides };
  const { padded, readonly } = state;
  let tensor: Tensor = Tensor.wrap(bytes, { dtype: info.name, ...layout, padded, readonly });
  let places: Tensor = Tensor.wrap(Tensor.arange(room, 'int32').data, layout);
  const copies: string[] = [];
  for (const { method, args, text } of parseCalls(state.calls)) {
    const apply = (x: Tensor): Tensor => (x[method] as (...given: unknown[]) => Tensor)(...args);
    const next = apply(tensor);
    if (next.size > MAX_ELEMENTS || next.nbytes > MAX_BYTES) {
      throw new FormError(`The explorer shows up to ${MAX_ELEMENTS} elements, and ${text} makes ${next.size}`);
    }
    if (next.size === 0 || tensor.size === 0 || next.sharesMemory(tensor))
      places = method === 'astype' ? places : apply(places);
    else {
      copies.push(text);
      const { buffer, byteOffset, byteLength: length } = next.data;
      bytes = new Uint8Array(buffer as ArrayBuffer, byteOffset, length);
      places = Tensor.arange(next.size, 'int32').reshape(next.shape);
    }
    tensor = next;
  }
  const dtype = parseDType(tensor.dtype);
  const step = dtype.isSubByte && tensor.isPadded ? Math.ceil(dtype.itemBits / 8) * 8 : dtype.itemBits;
  return {
    tensor,
    dtype,
    bytes,
    room: copies.length === 0 ? room : tensor.size,
    step,
    indices: indicesOf(tensor.shape),
    places: [...places].map(Number),
    isFirstMemory: copies.length === 0,
    copies,
  };
}

function indicesOf(shape: readonly number[]): number[][] {
  return shape.reduce<number[][]>(
    (all, length) => all.flatMap((index) => Array.from({ length }, (_, i) => [...index, i])),
    [[]],
  );
}

/** Why the elements are not row-major without gaps; null if they are. */
export function gapOf({ shape, strides, isContiguous }: Tensor): string | null {
  if (isContiguous) return null;
  let expected = 1;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    const length = shape[axis] as number;
    if (length !== 1 && strides[axis] !== expected)
      return `axis ${axis} has stride ${strides[axis]}, row-major has ${expected}`;
    expected *= length;
  }
  return null;
}

/** The value of an element as text. */
export function valueAt(tensor: Tensor, index: readonly number[]): string {
  const value = tensor.get(...index) as unknown;
  if (typeof value === 'object' && value !== null && 're' in value) {
    const { re, im } = value as { re: number; im: number };
    return `${re}${im < 0 ? '−' : '+'}${Math.abs(im)}i`;
  }
  if (value instanceof Uint8Array)
    return [...value]
      .reverse()
      .map(hex)
      .join('')
      .replace(/^0+(?=.)/, '');
  if (typeof value === 'number' && !Number.isInteger(value)) return String(Number(value.toPrecision(6)));
  return Array.isArray(value) ? `(${value.join(', ')})` : String(value);
}

/** A value that the reader has typed, for `set`. */
export function readValue(text: string, dtype: DTypeInfo): unknown {
  if (/int(64|128)|handle/.test(dtype.base)) return /^\s*-?\d+\s*$/.test(text) ? BigInt(text.trim()) : Number(text);
  if (dtype.base === 'bool') return text.trim() === 'true' ? true : text.trim() === 'false' ? false : text;
  return text.trim() === '' ? Number.NaN : Number(text);
}

export const hex = (byte: number): string => byte.toString(16).padStart(2, '0');
