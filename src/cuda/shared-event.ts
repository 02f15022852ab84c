/**
 * Events that other processes wait for: each marks the end of the work on a storage.
 *
 * @module
 */

import type { DeviceInfo } from '../device.js';
import { BufferError } from '../errors.js';
import type { Owner } from '../storage/collect.js';
import type { Descriptor } from '../storage/descriptor.js';
import type { Storage } from '../storage/storage.js';
import { currentHandle } from './current.js';
import { check, cuda } from './driver.js';
import { ADDRESS, DEVICE, EVENT, FLAGS, f64, i32, NUMBER, STREAM, u32, u64 } from './frame.js';
import { readValues } from './hex.js';
import { handOver } from './memory.js';
import { Owned } from './owned.js';

// The driver has room for a few thousand such events in a process. Beyond that, unrelated calls fail.
const MAX_EVENTS = 1000;
let liveEvents = 0;

/** An `Event` with other flags. It is released with the storage whose work it marks. */
class SharedEvent implements Owner {
  readonly handle: bigint;
  readonly #owned: Owned;

  constructor(device: DeviceInfo) {
    const binding = cuda();
    i32[DEVICE] = device.id;
    u32[FLAGS] = EVENT_INTERPROCESS | EVENT_DISABLE_TIMING;
    binding.createEvent();
    check(`an event on '${device.name}' for other processes`);
    this.handle = u64[EVENT] as bigint;
    this.#owned = new Owned(this, u64[ADDRESS] as bigint, () => void liveEvents--);
    liveEvents++;
  }

  free(): void {
    this.#owned.release();
  }
}

const EVENT_DISABLE_TIMING = 2;
const EVENT_INTERPROCESS = 4;

/** One event for each storage. Recorded again it happens later, never earlier, because each record waits for all work before it. */
const events = new WeakMap<Storage, SharedEvent>();
// The methods as they were when this module was loaded: patched methods would receive storages.
const knownEvent = WeakMap.prototype.get.bind(events) as (storage: Storage) => SharedEvent | undefined;
const knowEvent = WeakMap.prototype.set.bind(events) as (storage: Storage, event: SharedEvent) => void;

function eventOf({ storage, device }: Descriptor): SharedEvent | null {
  const known = knownEvent(storage);
  if (known !== undefined || liveEvents >= MAX_EVENTS) return known ?? null;
  const made = new SharedEvent(device);
  knowEvent(storage, made);
  storage.attached ??= new Set();
  storage.attached.add(made);
  return made;
}

/** The handle of an event behind all work on a tensor. Where there are too many events, waits for that work and returns null. */
export function recordEvent(descriptor: Descriptor): string | null {
  const { device } = descriptor;
  const stream = currentHandle(device.id);
  const binding = cuda();
  const select = (): void => {
    i32[DEVICE] = device.id;
    u64[STREAM] = stream;
    u32[FLAGS] = 0;
  };
  select();
  binding.isCapturing();
  check('the state of a stream');
  if (f64[NUMBER] === 1) {
    throw new BufferError(
      'The current stream is being captured into a graph, so no event can be recorded on it; share the tensor before or after the capture, or with { sync: false }',
    );
  }
  handOver(descriptor, stream);
  const event = eventOf(descriptor);
  select();
  if (event === null) {
    binding.synchronize();
    check(`work on '${device.name}' to succeed`);
    return null;
  }
  u64[EVENT] = event.handle;
  binding.record();
  check('an event to be recorded');
  binding.shareEvent();
  check('a handle of an event for other processes');
  return readValues(0, 64);
}
