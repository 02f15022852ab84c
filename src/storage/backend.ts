/**
 * What the core asks of native code, when there is any. The core imports no addon: the entry for Node, Bun and Deno
 * registers a backend, and a browser has none.
 *
 * @module
 */

import type { DeviceInfo } from '../device.js';
import type { DTypeInfo } from '../dtype.js';
import type { Descriptor } from './descriptor.js';
import type { SharingBackend } from './device-backend.js';
import { HeapStorage, type Storage } from './storage.js';

/** Elements of one scalar type into another. Offsets and steps are bits; axes are the outermost first. */
export interface Pass {
  readonly from: DTypeInfo;
  readonly to: DTypeInfo;
  readonly fromBit: number;
  readonly toBit: number;
  readonly shape: readonly number[];
  readonly fromSteps: readonly number[];
  readonly toSteps: readonly number[];
}

export interface Backend {
  /** Memory on a device, or null when this backend cannot. */
  allocate(nbytes: number, device: DeviceInfo, isZeroed: boolean): Storage | null;
  /** Takes over a buffer that nobody else refers to, so that native code may keep its address; null when it must not. */
  adopt(buffer: ArrayBuffer): Storage | null;
  /** The tensor in a type-tagged native external, or null when the value is none. A copy of one that is misaligned. */
  importExternal(value: unknown, copy: boolean | null): Descriptor | null;
  /** Memory at a native address that lives until `deleter` is called, on this thread. */
  importAddress(address: bigint, nbytes: number, deleter: () => void): Storage;
  /** The address of byte 0. For JavaScript memory it is good as long as the buffer is held and not detached. */
  addressOf(storage: Storage): bigint;
  /** A type-tagged native external with a reference of its own, or null when the memory has no stable address. */
  exportExternal(descriptor: Descriptor): unknown;
  /** Runs one pass of a copy or cast; false, with nothing written, when this backend has none for it. */
  convert?(pass: Pass, source: Storage, target: Storage): boolean;
  /** The same on another thread, or null. The caller keeps both storages until it is done. */
  convertAsync?(pass: Pass, source: Storage, target: Storage): Promise<void> | null;
  /** Host memory for other processes. */
  readonly sharing: SharingBackend;
  /** True when two storages share memory. */
  overlaps(a: Storage, b: Storage): boolean;
}

let backend: (() => Backend | null) | null = null;

/** Called by the entry of a runtime with native code. `find` runs at each use: the addon may come later. */
export function setBackend(find: () => Backend | null): void {
  backend = find;
}

/** The backend, or null where there is none. */
export function getBackend(): Backend | null {
  return backend === null ? null : backend();
}

/** Host memory: native where there is a backend, a JavaScript buffer, whose bits are zero, elsewhere. */
export function allocateHost(nbytes: number, device: DeviceInfo, isZeroed: boolean): Storage {
  return getBackend()?.allocate(nbytes, device, isZeroed) ?? new HeapStorage(new ArrayBuffer(nbytes));
}
