/** Events that other processes wait for: each marks the end of the work on a storage. */

import type { DeviceInfo } from '../device.js';
import { BufferError } from '../errors.js';
import { wire } from '../native/wire.js';
import { readHex } from '../native/wire-bytes.js';
import type { Descriptor } from '../storage/descriptor.js';
import type { Storage } from '../storage/storage.js';
import { currentHandle } from './current.js';
import { createEvent, type DriverEvent, EVENT_DISABLE_TIMING } from './event.js';
import { handOver } from './memory.js';
import { Owned } from './owned.js';
import { begin, isCapturing, mark, onStream, run } from './requests.js';
import { ShareEventRequest } from './wire-layout.js';

// The driver has room for a few thousand such events in a process. Beyond that, unrelated calls fail.
const MAX_EVENTS = 1000;
let liveEvents = 0;

const EVENT_INTERPROCESS = 4;

/** One event for each storage. Recording again only moves it later, because each record waits for all earlier work. */
const events = new WeakMap<Storage, DriverEvent>();
// The methods as they were when this module was loaded: patched methods would receive storages.
const knownEvent = WeakMap.prototype.get.bind(events) as (storage: Storage) => DriverEvent | undefined;
const knowEvent = WeakMap.prototype.set.bind(events) as (storage: Storage, event: DriverEvent) => void;

/** The event of a storage, which is released with the storage; null if there are too many events. */
function eventOf({ storage, device }: Descriptor): DriverEvent | null {
  const known = knownEvent(storage);
  if (known !== undefined || liveEvents >= MAX_EVENTS) return known ?? null;
  const made = createEvent(device, EVENT_INTERPROCESS | EVENT_DISABLE_TIMING, 'an event for other processes');
  liveEvents++;
  knowEvent(storage, made);
  storage.attached ??= new Set();
  storage.attached.add(new Owned(made, made.owner, () => void liveEvents--));
  return made;
}

/** The handle of an event after all work on a tensor; null if there are too many events, after waiting for the work. */
export function recordEvent(descriptor: Descriptor): string | null {
  const { device } = descriptor;
  const stream = currentHandle(device.id);
  if (isCapturing(device.id, stream)) {
    throw new BufferError(
      'The current stream is being captured into a graph, so no event can be recorded on it; share the tensor before or after the capture, or with { sync: false }',
    );
  }
  handOver(descriptor, stream);
  const event = eventOf(descriptor);
  if (event === null) {
    onStream('synchronizeStream', device, stream);
    return null;
  }
  mark('record', device.id, stream, event.handle, 'an event to be recorded');
  return shareEvent(device, event.handle);
}

/** The driver's handle of an event for other processes, in hexadecimal digits. */
function shareEvent(device: DeviceInfo, event: bigint): string {
  const slot = begin(ShareEventRequest.WORDS, device.id);
  wire.u64[slot + ShareEventRequest.EVENT] = event;
  run(slot, 'shareEvent', 'a handle of an event for other processes');
  return readHex(slot + ShareEventRequest.IPC_HANDLE, 64);
}
