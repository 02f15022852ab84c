/**
 * The functions that the core needs from a module for a kind of device, such as `dlpack/cuda`. Such modules register
 * here.
 */

import type { StreamArgument } from '../base/stream.js';
import type { DeviceInfo, DeviceKind } from '../device.js';
import type { Descriptor } from './descriptor.js';
import type { Scaling } from './scaling.js';
import type { Storage } from './storage.js';

/** Describes the memory of another process in plain values, which every channel can carry. */
export interface SharedMemory {
  /** The name by which every process of the machine knows the device: the UUID of a CUDA device. */
  readonly device: string;
  /** The process that allocated the memory, 16 hexadecimal digits. */
  readonly process: string;
  /** The driver's handle of the allocation, in hexadecimal digits; null for a tensor without elements. */
  readonly memory: string | null;
  /** Bytes of the allocation. */
  readonly size: number;
  /** Bits from the start of the allocation to the first element. A multiple of 8 except in packed sub-byte types. */
  readonly bitOffset: number;
  /**
   * The driver's handle of an event after the work on the tensor, in hexadecimal digits; null when there is no work to
   * wait for.
   */
  readonly event: string | null;
}

/** Shares memory with other processes. The backend checks the memory, and `dlpack/shared` checks the layout. */
export interface SharingBackend {
  /** Memory that {@link share} accepts. */
  allocate(nbytes: number, device: DeviceInfo, name: string | null): Storage;
  /**
   * Describes the memory of a tensor. `sync` adds an event after the work that is queued on it. `isReadOnly`: other
   * processes may not write it, as far as the system can prevent it.
   */
  share(descriptor: Descriptor, sync: boolean, isReadOnly: boolean): SharedMemory;
  /**
   * Opens the bytes from `start` to `end` of an allocation. `stream` waits for the event. `file` is a descriptor of the
   * memory that this process inherited.
   */
  open(
    shared: SharedMemory,
    start: number,
    end: number,
    stream: StreamArgument,
    isReadOnly: boolean,
    file: number | null,
  ): OpenedMemory;
}

export interface OpenedMemory {
  readonly storage: Storage;
  readonly device: DeviceInfo;
}

/** The streams of a kind of device. */
export interface StreamBackend {
  /** The current stream of a device on this thread, as the driver names it. */
  current(device: DeviceInfo): bigint;
  /** The driver's handle of a stream that a user passed. Throws when the stream belongs to another device. */
  handle(device: DeviceInfo, stream: StreamArgument): bigint;
  /** Runs `action` with a stream as the current one of a device on this thread. */
  use<T>(device: DeviceInfo, stream: StreamArgument, action: () => T): T;
}

/** Bytes of host memory that go to one tensor on a device. */
export interface UploadPart {
  /** Bytes from the start of the host memory. */
  readonly offset: number;
  readonly nbytes: number;
  readonly target: Descriptor;
  /** Bytes from the start of the target. */
  readonly targetOffset: number;
}

/** An upload on its way. Both promises reject with the same error. */
export interface Upload {
  /** Resolves when the host memory has been read, which is the time to start another upload. */
  readonly read: Promise<void>;
  /** Resolves when the elements are on the device. */
  readonly arrived: Promise<void>;
}

/** A module for a kind of device (`dlpack/cuda`, `dlpack/webgpu`). The core does not import such modules: they register. */
export interface DeviceBackend {
  allocate(nbytes: number, device: DeviceInfo): Storage;
  /** True when {@link copy} can convert the elements of `source` to the dtype of `target`. */
  casts?(source: Descriptor, target: Descriptor, scaling: Scaling | null): boolean;
  /**
   * Copies every element into the target. At least one is on this backend's device. Both have the same dtype, unless
   * {@link casts} allows another. `isNew`: no other element uses the target's bytes, so that bits after the last packed
   * element may be overwritten.
   */
  copy(source: Descriptor, target: Descriptor, isNew: boolean, scaling: Scaling | null): void;
  /** As `copy`, without blocking. The caller keeps both storages alive. */
  copyAsync(source: Descriptor, target: Descriptor, isNew: boolean, scaling: Scaling | null): Promise<void>;
  /**
   * Copies parts of a contiguous host tensor, in order of their offsets, to contiguous tensors on one device, without
   * blocking. The caller keeps the host memory until it has been read. For devices that have a faster way than
   * `copyAsync` for large amounts of plain host memory; null for memory for which it has none.
   */
  upload?(source: Descriptor, parts: readonly UploadPart[]): Upload | null;
  /** Fills the last `count` bytes of a new storage of this backend with zero bits. */
  clear(storage: Storage, device: DeviceInfo, count: number): void;
  /**
   * The producer's side of an exchange: work that the consumer queues on `stream` from now on finds the data ready.
   * Numbers as in the array API: null is the default stream, -1 asks for no synchronisation.
   */
  handOver(descriptor: Descriptor, stream: bigint | null): void;
  /**
   * The consumer's side of an exchange: the data is ready for work that `stream` gets from now on. Work on other
   * streams here is ordered after that. Numbers as above.
   */
  follow(descriptor: Descriptor, stream: bigint | null): void;
  /** Waits until no work of a device uses host-accessible memory any more. For devices that have such memory. */
  settle?(storage: Storage, device: DeviceInfo): void;
  /** null: these devices have no streams, as in WebGPU. */
  readonly streams: StreamBackend | null;
  /** The CUDA Array Interface of memory on a CUDA device or in managed memory; undefined for other memory. */
  arrayInterface(descriptor: Descriptor): object | undefined;
  /** null: memory of these devices cannot be shared with other processes. */
  readonly sharing: SharingBackend | null;
}

const deviceBackends = new Map<DeviceKind, DeviceBackend>();

/** The subpaths with backends. */
export type DeviceModule = 'cuda' | 'webgpu';

let loadModule: ((name: DeviceModule) => void) | null = null;

/** The entry of a runtime that can load modules at once calls this. In a browser a program imports them. */
export function setModuleLoader(load: (name: DeviceModule) => void): void {
  loadModule = load;
}

function moduleOf({ kind }: DeviceInfo): DeviceModule | null {
  return kind.startsWith('cuda') ? 'cuda' : kind === 'webgpu' ? 'webgpu' : null;
}

/** Advice for an error about a device whose module is not loaded. */
export function loadAdvice(device: DeviceInfo): string {
  const name = moduleOf(device);
  return name === null ? '' : `; import "dlpack/${name}" first`;
}

/** The backend of a device that a program uses. Loads its module; null where that is not possible. */
export function loadDeviceBackend(device: DeviceInfo): DeviceBackend | null {
  const found = getDeviceBackend(device);
  const name = moduleOf(device);
  if (found !== null || name === null) return found;
  loadBackend(name);
  return getDeviceBackend(device);
}

/** Loads a module, where the runtime can. */
export function loadBackend(name: DeviceModule): void {
  loadModule?.(name);
}

export function setDeviceBackend(kinds: readonly DeviceKind[], backend: DeviceBackend): void {
  for (const kind of kinds) deviceBackends.set(kind, backend);
}

/** The stream that a consumer on this thread names to a producer: the current stream, if a backend is loaded. */
export function consumerStream(device: DeviceInfo): bigint | null {
  return device.isHostAccessible ? null : (getDeviceBackend(device)?.streams?.current(device) ?? null);
}

/** True when a module for any device is loaded. */
export function hasDeviceBackend(): boolean {
  return deviceBackends.size > 0;
}

/** The backend of a device, or null while no module for it is loaded. */
export function getDeviceBackend(device: DeviceInfo): DeviceBackend | null {
  return deviceBackends.get(device.kind) ?? null;
}
