/**
 * What the core asks of native code, when there is any. The core imports no addon: an entry for Node, Bun and Deno
 * hands a backend in, a browser never does.
 *
 * @module
 */

import type { Descriptor } from './descriptor.js';
import type { DeviceInfo, DeviceKind } from './device.js';
import type { Pass } from './pass.js';
import { HeapStorage, type Storage } from './storage.js';

export interface Backend {
  /** Memory on a device, or null when this backend cannot. */
  allocate(nbytes: number, device: DeviceInfo): Storage | null;
  /** Takes over a buffer that nobody else refers to, so that native code may keep its address; null when it must not. */
  adopt(buffer: ArrayBuffer): Storage | null;
  /** The tensor in a type-tagged native external, or null when the value is none. */
  importExternal(value: unknown): Descriptor | null;
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
  /** True when two storages may share memory. */
  overlaps?(a: Storage, b: Storage): boolean;
}

/** What a consumer asks a foreign object for, in the words of the array API. */
export interface ImportRequest {
  readonly copy: boolean | null;
  readonly device: DeviceInfo | null;
  /** The stream that the consumer named, -1 for none; null: the current one. */
  readonly stream: bigint | null;
}

let importObject: ((source: object, request: ImportRequest | null) => Descriptor | null) | null = null;

/** Called by a module that knows objects of another world (Python's): their tensors without the detour over the protocol. */
export function setObjectImporter(load: (source: object, request: ImportRequest | null) => Descriptor | null): void {
  importObject = load;
}

/** The tensor of an object that such a module knows, or null. */
export function importForeign(source: object, request: ImportRequest | null): Descriptor | null {
  return importObject === null ? null : importObject(source, request);
}

/** The entries of a `__cuda_array_interface__`, each of its own type and otherwise unchecked. */
export interface ArrayEntries {
  readonly shape: readonly number[];
  readonly typestr: string;
  readonly pointer: bigint;
  readonly isReadOnly: boolean;
  readonly version: number;
  /** Bytes; null: row-major. */
  readonly strides: readonly number[] | null;
  /** The maker's; null when there is nothing to wait for. */
  readonly stream: bigint | null;
  /** An object with an interface of its own. */
  readonly mask: unknown;
}

/** The CUDA Array Interface of an object of another world, which is kept until one of the functions is called. */
export interface ForeignArray {
  /** null: something is out of the ordinary, and the caller has to look at `raw`. */
  readonly entries: ArrayEntries | null;
  /** The interface as JavaScript values. */
  readonly raw: unknown;
  /** A storage that keeps the object, over memory that it does not know yet. */
  hold(nbytes: number): Storage;
  /** Lets go of the object. */
  drop(): void;
}

type ArrayReader = (source: object, isInterface: boolean) => ForeignArray | null;

type ArrayTaker = (source: object) => Descriptor | null;

let readArray: ArrayReader | null = null;
let takeArray: ArrayTaker | null = null;

/** Called by a module that knows objects of another world: how their CUDA Array Interface is read, or taken, in one go. */
export function setArrayReader(read: ArrayReader, take: ArrayTaker): void {
  readArray = read;
  takeArray = take;
}

/** The memory of an object that such a module knows, checked; null where something needs a closer look. */
export function takeForeignArray(source: object): Descriptor | null {
  return takeArray === null ? null : takeArray(source);
}

/** The interface of an object that such a module knows, or null. `isInterface`: the object is the interface itself. */
export function readForeignArray(source: object, isInterface: boolean): ForeignArray | null {
  return readArray === null ? null : readArray(source, isInterface);
}

let backend: (() => Backend | null) | null = null;

/** Called by the entry of a runtime with native code. `load` runs once, on first need. */
export function setBackend(load: () => Backend | null): void {
  let loaded: Backend | null | undefined;
  backend = () => {
    if (loaded === undefined) loaded = load();
    return loaded;
  };
}

/** The backend, or null where there is none. */
export function getBackend(): Backend | null {
  return backend === null ? null : backend();
}

/** What the core asks of a module that knows a kind of device (`dlpack/cuda`). The core imports none: they register. */
export interface DeviceBackend {
  allocate(nbytes: number, device: DeviceInfo): Storage;
  /** Every element into the target's place; same dtype, and at least one of them on a device of this backend. */
  copy(source: Descriptor, target: Descriptor): void;
  /** The same without blocking. The caller keeps both storages alive. */
  copyAsync(source: Descriptor, target: Descriptor): Promise<void>;
  /** Zero bits in all of a storage of this backend. */
  clear(storage: Storage, device: DeviceInfo): void;
  /**
   * The producer's side of an exchange: what the consumer queues on `stream` from now on finds the data ready. Numbers as in
   * the array API; null is the default stream, -1 asks for nothing.
   */
  handOver(descriptor: Descriptor, stream: bigint | null): void;
  /**
   * The consumer's side: the data is ready for what `stream` gets from now on. Work here starts after that, whatever stream it
   * is on. Numbers as above.
   */
  follow(descriptor: Descriptor, stream: bigint | null): void;
  /** The current stream of a device on this thread, as the driver names it. */
  currentStream(device: DeviceInfo): bigint;
}

const deviceBackends = new Map<DeviceKind, DeviceBackend>();

export function setDeviceBackend(kinds: readonly DeviceKind[], backend: DeviceBackend): void {
  for (const kind of kinds) deviceBackends.set(kind, backend);
}

/** The stream that a consumer on this thread names to a producer: the current one of a device that streams are known of. */
export function consumerStream(device: DeviceInfo): bigint | null {
  return device.isHostAccessible ? null : (getDeviceBackend(device)?.currentStream(device) ?? null);
}

/** True when some module for a device is loaded. */
export function hasDeviceBackend(): boolean {
  return deviceBackends.size > 0;
}

/** The backend of a device, or null while no module for it is loaded. */
export function getDeviceBackend(device: DeviceInfo): DeviceBackend | null {
  return deviceBackends.get(device.kind) ?? null;
}

/** Host memory: native where there is a backend, a JavaScript buffer elsewhere. Not initialised. */
export function allocateHost(nbytes: number, device: DeviceInfo): Storage {
  return getBackend()?.allocate(nbytes, device) ?? new HeapStorage(new ArrayBuffer(nbytes));
}
