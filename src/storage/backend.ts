/**
 * The functions that the core needs from native code, where it exists. The core does not import the addon: the entry
 * for Node, Bun and Deno registers a backend, and a browser has none.
 */

import type { DTypeInfo, TypedArray } from '../dtype.js';
import type { Descriptor } from './descriptor.js';
import type { SharingBackend } from './device-backend.js';
import type { Scaling } from './scaling.js';
import type { Storage } from './storage.js';

/** One run that copies or casts elements of one scalar type. Offsets and steps are in bits, outer axes come first. */
export interface Pass {
  readonly from: DTypeInfo;
  readonly to: DTypeInfo;
  readonly fromBit: number;
  readonly toBit: number;
  readonly axes: readonly PassAxis[];
  /** Present in a cast that scales its numbers. */
  readonly scaling?: Scaling;
}

/** The length of an axis, and its steps on both sides. */
export interface PassAxis {
  readonly length: number;
  readonly from: number;
  readonly to: number;
}

export interface Backend {
  /** New memory, whose last `cleared` bytes are zero. */
  allocate(nbytes: number, cleared: number): Storage;
  /** Takes over a buffer without other references, so that native code may keep its address; null when it must not. */
  adopt(buffer: ArrayBuffer): Storage | null;
  /** The tensor in a type-tagged native external, or null for any other value. A misaligned tensor is copied. */
  importExternal(value: unknown, copy: boolean | null): Descriptor | null;
  /** Memory at a native address. `deleter` releases it and is called on this thread. */
  importAddress(address: bigint, nbytes: number, deleter: () => void): Storage;
  /** The address of byte 0. For JavaScript memory it is valid while the buffer is referenced and not detached. */
  addressOf(storage: Storage): bigint;
  /** A type-tagged native external with its own reference; null for memory without a stable address, unless it `mayCopy`. */
  exportExternal(descriptor: Descriptor, mayCopy: boolean): unknown;
  /** The values of nested arrays in new row-major memory; null, with nothing allocated, if it cannot. */
  writeNested(source: unknown, shape: readonly number[], dtype: DTypeInfo): Storage | null;
  /** The elements of a short typed array in new memory; null, with nothing allocated, for others. */
  writeFew(array: TypedArray, length: number, dtype: DTypeInfo): Storage | null;
  /** New memory with the elements of a tensor, row-major and converted; null, with nothing allocated, if it cannot. */
  copy(source: Descriptor, to: DTypeInfo): Storage | null;
  /** Runs one pass of a copy or cast. Returns false, with nothing written, if it is not supported. */
  convert(pass: Pass, source: Storage, target: Storage): boolean;
  /** As `convert`, on other threads. The caller keeps both storages until the promise settles. */
  convertAsync(pass: Pass, source: Storage, target: Storage): Promise<boolean>;
  /** Host memory for other processes. */
  readonly sharing: SharingBackend;
  /** True when two storages share memory. */
  overlaps(a: Storage, b: Storage): boolean;
}

let backend: (() => Backend | null) | null = null;

/** The entry of a runtime with native code calls this. `find` runs at each use, as the addon may be loaded later. */
export function setBackend(find: () => Backend | null): void {
  backend = find;
}

/** The backend, or null if there is none. */
export function getBackend(): Backend | null {
  return backend === null ? null : backend();
}
