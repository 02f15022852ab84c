/** Events that other processes wait for: each marks the end of the work on a storage. */

import { privateWeakMap } from '../../base/primordials.js';
import { BufferError } from '../../errors.js';
import type { Descriptor } from '../../storage/descriptor.js';
import type { Storage } from '../../storage/storage.js';
import { cuda, take } from '../driver.js';
import { handOver } from '../memory/memory.js';
import { currentHandle } from './current.js';
import { createEvent, type DriverEvent, EVENT_DISABLE_TIMING } from './event.js';
import { Owned } from './owned.js';
import { isCapturing, mark, onStream } from './requests.js';

// The driver has room for a few thousand such events in a process. Beyond that, unrelated calls fail.
const MAX_EVENTS = 1000;
let liveEvents = 0;

const EVENT_INTERPROCESS = 4;

/** One event for each storage. Recording again only moves it later, because each record waits for all earlier work. */
const events = privateWeakMap<Storage, DriverEvent>();

/** The event of a storage, which is released with the storage; null if there are too many events. */
function eventOf({ storage, device }: Descriptor): DriverEvent | null {
  const known = events.get(storage);
  if (known !== undefined || liveEvents >= MAX_EVENTS) return known ?? null;
  const made = createEvent(device, EVENT_INTERPROCESS | EVENT_DISABLE_TIMING, 'an event for other processes');
  liveEvents++;
  events.set(storage, made);
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
  return take(cuda().shareEvent(device.id, event.handle), 'a handle of an event for other processes');
}
