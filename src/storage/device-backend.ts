/**
 * What the core asks of a module that knows a kind of device, such as `dlpack/cuda`. Such modules register here.
 *
 * @module
 */

import type { DeviceInfo, DeviceKind } from '../device.js';
import type { StreamArgument } from '../stream.js';
import type { Descriptor } from './descriptor.js';
import type { Storage } from './storage.js';

/** Where the memory of another process lies. Plain values: every channel carries them. */
export interface SharedMemory {
  /** A name of the device that every process of the machine knows: the UUID of a CUDA device. */
  readonly device: string;
  /** The process that allocated the memory, 16 hexadecimal digits. */
  readonly process: string;
  /** The driver's handle of the allocation, in hexadecimal digits; null for a tensor without elements. */
  readonly memory: string | null;
  /** Bytes of the allocation. */
  readonly size: number;
  /** From the start of the allocation to the first element. A multiple of eight except inside packed sub-byte types. */
  readonly bitOffset: number;
  /** The driver's handle of an event behind the work on the tensor, in hexadecimal digits; null: there is nothing to wait for. */
  readonly event: string | null;
}

/** Memory for other processes. The functions check what only the backend knows; `dlpack/shared` checks the layout. */
export interface SharingBackend {
  /** Memory that {@link share} accepts. */
  allocate(nbytes: number, device: DeviceInfo): Storage;
  /** Describes the memory of a tensor. `sync` adds an event behind the work that is queued on it. */
  share(descriptor: Descriptor, sync: boolean): SharedMemory;
  /** The bytes from `start` to `end` of an allocation. `stream` waits for the event. */
  open(shared: SharedMemory, start: number, end: number, stream: StreamArgument, isReadOnly: boolean): OpenedMemory;
}

export interface OpenedMemory {
  readonly storage: Storage;
  readonly device: DeviceInfo;
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
  /** The driver's handle of a stream that a user passed. Throws when the stream belongs to another device. */
  streamHandle(device: DeviceInfo, stream: StreamArgument): bigint;
  /** Runs `action` with a stream as the current one of a device on this thread. */
  useStream<T>(device: DeviceInfo, stream: StreamArgument, action: () => T): T;
  /** The CUDA Array Interface of memory that streams of CUDA work on; undefined for other memory. */
  arrayInterface(descriptor: Descriptor): object | undefined;
  /** null: memory of these devices cannot be shared with other processes. */
  readonly sharing: SharingBackend | null;
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
