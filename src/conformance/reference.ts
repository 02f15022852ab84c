/** Section 3 of docs/spec.md as code that shares nothing with the package: what a managed tensor may hold, and its elements. */

import type { DLDataType } from '../dtype.js';
import type { ManagedTensor } from '../protocol/managed.js';
import { expect } from './case.js';
import { countOf, type Recipe, widthOf } from './recipes.js';

export const dlpack: unique symbol = Symbol.for('dlpack') as never;
export const dlpackDevice: unique symbol = Symbol.for('dlpack.device') as never;

export const READ_ONLY = 1;
export const IS_COPIED = 2;
export const IS_PADDED = 4;

const hostTypes = [1, 3, 11, 13, 20];
const knownCodes = 19;

const slots = ['ArrayBuffer', 'SharedArrayBuffer'].flatMap((name) => {
  const type = (globalThis as Record<string, unknown>)[name] as { prototype: object } | undefined;
  const getter = type && Object.getOwnPropertyDescriptor(type.prototype, 'byteLength')?.get;
  return getter === undefined ? [] : [getter];
});

/** The length of a buffer of any realm; null for anything else. */
export function lengthOf(data: unknown): number | null {
  for (const getter of slots) {
    try {
      return Reflect.apply(getter, data, []) as number;
    } catch {
      // not this kind of buffer
    }
  }
  return null;
}

const memoryBuffer =
  typeof WebAssembly === 'object' && Object.getOwnPropertyDescriptor(WebAssembly.Memory.prototype, 'buffer')?.get;

/** A buffer itself, or the present buffer of a WebAssembly memory of any realm. */
export function hostBufferOf(data: unknown): unknown {
  try {
    return memoryBuffer ? Reflect.apply(memoryBuffer, data, []) : data;
  } catch {
    return data;
  }
}

/** The bytes to which the first element is aligned: those of one scalar, at most eight. */
function alignmentOf({ code, bits }: DLDataType): number {
  const scalar = code === 5 || code === 18 ? bits / 2 : bits;
  return scalar < 8 ? 1 : Math.min(8, scalar / 8);
}

const isInteger = (value: unknown): value is number => Number.isSafeInteger(value);
const isCount = (value: unknown): value is number => isInteger(value) && value >= 0;
const show = (value: unknown): string => {
  if (typeof value === 'bigint') return `${value}n`;
  if (Array.isArray(value)) return `[${value.map(show).join(', ')}]`;
  return typeof value === 'object' && value !== null ? 'an object' : String(value);
};

/** A producer's answer as a managed tensor, after every check of section 3 and, for the form of its memory, section 4. */
export function checkManaged(answer: unknown, { isNative = false, followsMemory = false } = {}): ManagedTensor {
  const rule = (holds: boolean, expected: string, value: unknown): void =>
    expect(holds, expected, `received ${show(value)}`);
  rule(typeof answer === 'object' && answer !== null, 'a managed tensor', answer);
  rule(typeof (answer as { then?: unknown }).then !== 'function', 'a managed tensor', 'a promise');
  const managed = answer as ManagedTensor;
  const { version, flags, data, byteOffset, shape, strides, dtype, device, deleter } = managed;
  rule(Array.isArray(version) && version.length === 2 && version.every(isCount), 'a version [major, minor]', version);
  rule(version[0] === 1, 'version 1.x', version);
  rule(isCount(flags) || (typeof flags === 'bigint' && flags >= 0n && flags < 2n ** 64n), 'non-negative flags', flags);
  rule(isCount(byteOffset), 'a byteOffset that is a non-negative safe integer', byteOffset);
  rule(Array.isArray(shape) && shape.every(isCount), 'a shape of non-negative safe integers in an Array', shape);
  rule(shape.length <= 64, 'at most 64 axes', shape.length);
  rule(Array.isArray(strides) && strides.every(isInteger), 'strides of safe integers in an Array', strides);
  const steps = strides as readonly number[];
  rule(steps.length === shape.length, `${shape.length} strides`, steps.length);
  const { code, bits, lanes } = dtype ?? {};
  rule([code, bits, lanes].every(isCount), 'a dtype { code, bits, lanes }', show(code));
  rule(code < knownCodes && bits > 0 && lanes > 0, 'a dtype of dlpack.h', [code, bits, lanes]);
  rule(isCount(device?.type) && isInteger(device?.id), 'a device { type, id }', show(device?.type));
  rule(deleter == null || typeof deleter === 'function', 'a deleter that is a function, null or absent', deleter);
  const isPadded = (Number(BigInt(flags) & 7n) & IS_PADDED) !== 0;
  if (typeof data === 'bigint') {
    rule(isNative, 'a buffer or a GPUBuffer without native: true', data);
    rule(device.type !== 15, 'no address on a WebGPU device', data);
  } else {
    const buffer = hostBufferOf(data);
    rule(followsMemory || buffer === data, 'a buffer without memory: true', 'a WebAssembly.Memory');
    const length = lengthOf(buffer);
    const gpu = data as { gpuBuffer?: { size: number }; gpuDevice?: object } | null;
    const isGpu = length === null && typeof gpu?.gpuBuffer === 'object' && typeof gpu.gpuDevice === 'object';
    rule(length !== null || isGpu, 'data in a buffer, a GPUBuffer with its GPUDevice, or at an address', data);
    if (isGpu) rule(device.type === 15, 'device type 15 with a GPUBuffer', device.type);
    else
      rule(
        hostTypes.includes(device.type),
        'a device type with host memory (1, 3, 11, 13, 20) with a buffer',
        device.type,
      );
    const size = length ?? Number(gpu?.gpuBuffer?.size);
    rule(byteOffset <= size, `a byteOffset of at most ${size}, the size of data`, byteOffset);
    if (!shape.includes(0)) {
      const { low, high } = reachOf(shape, steps, BigInt(widthOf(dtype, isPadded)), BigInt(byteOffset) * 8n);
      rule(low >= 0n, 'no element before data', `an element at bit ${low}`);
      rule(high <= BigInt(size) * 8n, `all elements within ${size} bytes`, `an element that ends at bit ${high}`);
      rule(byteOffset % alignmentOf(dtype) === 0, `a byteOffset that ${alignmentOf(dtype)} divides`, byteOffset);
    }
  }
  return managed;
}

/** The bits that the elements occupy, by the formula of section 3, in exact arithmetic. */
function reachOf(shape: readonly number[], strides: readonly number[], width: bigint, first: bigint) {
  let [low, high] = [0n, 0n];
  shape.forEach((length, axis) => {
    const end = BigInt(length - 1) * BigInt(strides[axis] as number);
    if (end < 0n) low += end;
    else high += end;
  });
  return { low: first + low * width, high: first + (high + 1n) * width };
}

/** The places of the elements, counted in elements from the first, in row-major order. */
export function placesOf(shape: readonly number[], strides: readonly number[]): number[] {
  if (shape.includes(0)) return [];
  let places = [0];
  shape.forEach((length, axis) => {
    places = places.flatMap((at) => Array.from({ length }, (_, i) => at + i * (strides[axis] as number)));
  });
  return places;
}

/** Elements that lie anywhere in a buffer, in row-major order without gaps. */
export function gather(
  source: Uint8Array,
  byteOffset: number,
  width: number,
  places: readonly number[],
): Uint8Array<ArrayBuffer> {
  const result = new Uint8Array(Math.ceil((places.length * width) / 8));
  places.forEach((place, i) => {
    for (let bit = 0; bit < width; bit++) {
      const from = byteOffset * 8 + place * width + bit;
      const value = ((source[from >> 3] as number) >> (from & 7)) & 1;
      const to = i * width + bit;
      result[to >> 3] = (result[to >> 3] as number) | (value << (to & 7));
    }
  });
  return result;
}

/** The elements of a checked managed tensor whose memory is a buffer. */
export function elementsOf({ data, byteOffset, shape, strides, dtype, flags }: ManagedTensor): Uint8Array<ArrayBuffer> {
  const width = widthOf(dtype, (Number(flags) & IS_PADDED) !== 0);
  const places = placesOf(shape, strides as readonly number[]);
  return gather(new Uint8Array(hostBufferOf(data) as ArrayBuffer), byteOffset, width, places);
}

/** Whether bytes hold a recipe's elements. Bits that belong to no element may differ. */
export function holds({ dtype, shape, bytes, isPadded }: Recipe, found: Uint8Array): boolean {
  const width = widthOf(dtype, isPadded);
  const used = isPadded ? dtype.bits * dtype.lanes : width;
  const count = countOf(shape);
  if (found.length < Math.ceil((count * width) / 8)) return false;
  for (let i = 0; i < count; i++) {
    for (let bit = i * width; bit < i * width + used; bit++) {
      const differs = ((found[bit >> 3] as number) ^ (bytes[bit >> 3] as number)) & (1 << (bit & 7));
      if (differs !== 0) return false;
    }
  }
  return true;
}

export const sameList = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  a.length === b.length && a.every((value, i) => Object.is(value, b[i]));
