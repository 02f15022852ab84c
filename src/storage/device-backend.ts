/**
 * What the core asks of a module that knows a kind of device, such as `dlpack/cuda`. Such modules register here.
 *
 * @module
 */

import type { DeviceInfo, DeviceKind } from '../device.js';
import type { Descriptor } from './descriptor.js';
import type { Storage } from './storage.js';

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
