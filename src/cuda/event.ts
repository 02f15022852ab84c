/**
 * Event: a point in the work of a stream.
 *
 * @module
 */

import type { Device, DeviceInfo } from '../device.js';
import { ArgumentTypeError, ArgumentValueError, DisposedError } from '../errors.js';
import { checkOptions, type OptionNames } from '../options.js';
import { type StreamArgument, streamHandle } from '../stream.js';
import { currentHandle, streamOfNumber } from './current.js';
import { parseCudaDevice } from './devices.js';
import { check, cuda, NOT_READY } from './driver.js';
import { ADDRESS, DEVICE, EVENT, FLAGS, f64, i32, NUMBER, STATUS, STREAM, u32, u64 } from './frame.js';
import { disposeSymbol, Owned } from './owned.js';
import { whenDone } from './wait.js';

export interface EventOptions {
  device?: Device;
  /** true: `elapsed` works. Events without are cheaper. */
  timing?: boolean;
}

export const eventOptionNames: OptionNames<EventOptions> = { device: true, timing: true };

/** What an event needs of a stream. */
interface LiveStream {
  readonly handle: bigint;
  readonly device: DeviceInfo;
}

let readStream: (value: unknown) => LiveStream | null = () => null;

/** Called by the module of streams: how a real one is told from what only looks like it. Handles are followed blindly. */
export function setStreamReader(read: (value: unknown) => LiveStream | null): void {
  readStream = read;
}

/** The handle of a stream that a program passed for a device. */
export function handleOn(device: DeviceInfo, stream: StreamArgument): bigint {
  if (stream === undefined || stream === null) return currentHandle(device.id);
  const on = readStream(stream);
  if (on === null) return numberOn(stream);
  if (on.device !== device) throw new ArgumentValueError('stream', `a stream of '${device.name}'`, on.device.name);
  return on.handle;
}

/** Numbers, and objects of other libraries that have one: whose device it is nobody can tell. */
function numberOn(stream: StreamArgument): bigint {
  const handle = streamOfNumber(streamHandle(stream));
  if (handle === null) throw new ArgumentValueError('stream', 'a stream to wait on', -1n);
  return handle;
}

/** The handle of an event, whatever a program put over its properties; null for anything else. */
export let liveEvent: (value: unknown) => bigint | null;

const EVENT_BLOCKING_SYNC = 1;
const EVENT_DISABLE_TIMING = 2;

/** A point in the work of a stream, to wait for or to measure from. One that was never recorded has happened. */
export class Event {
  readonly #device: DeviceInfo;
  readonly #handle: bigint;
  readonly #owned: Owned;
  #isRecorded = false;

  static {
    liveEvent = (value) =>
      typeof value === 'object' && value !== null && #handle in value ? (value as Event).#live() : null;
  }

  constructor(options: EventOptions = {}) {
    checkOptions(options, eventOptionNames, '{ timing: true }');
    // Getters run before the frame is filled.
    const { device = 'cuda:0', timing = false } = options;
    this.#device = parseCudaDevice(device);
    const binding = cuda();
    i32[DEVICE] = this.#device.id;
    u32[FLAGS] = EVENT_BLOCKING_SYNC | (timing === true ? 0 : EVENT_DISABLE_TIMING);
    binding.createEvent();
    check(`an event on '${this.#device.name}'`);
    this.#handle = u64[EVENT] as bigint;
    this.#owned = new Owned(this, u64[ADDRESS] as bigint);
  }

  get device(): Device {
    return this.#device.name;
  }

  /** The driver's own. */
  get handle(): bigint {
    return this.#live();
  }

  #live(): bigint {
    if (this.#owned.isDisposed) throw new DisposedError('Expected a live event but it was disposed');
    return this.#handle;
  }

  /** Moves the event behind what a stream has now; without one, the current stream of its device. */
  record(stream?: StreamArgument): this {
    const device = this.#device;
    const handle = handleOn(device, stream);
    i32[DEVICE] = device.id;
    u64[STREAM] = handle;
    u64[EVENT] = this.#live();
    cuda().record();
    check('an event to be recorded');
    this.#isRecorded = true;
    return this;
  }

  /** True when it has happened. */
  get isDone(): boolean {
    this.#select(1);
    cuda().query();
    if (i32[STATUS] === NOT_READY) return false;
    check(`work on '${this.#device.name}' to succeed`);
    return true;
  }

  /** Blocks until it has happened. */
  synchronize(): void {
    this.#select(1);
    cuda().synchronize();
    check(`work on '${this.#device.name}' to succeed`);
  }

  /** Resolves when it has happened. */
  async done(): Promise<void> {
    const handle = this.#live();
    if (this.#isRecorded)
      await whenDone(
        { event: handle, owner: this.#owned.address },
        this.#device.id,
        `work on '${this.#device.name}' to succeed`,
      );
  }

  /** Milliseconds since an earlier event. Both need `timing` and must have happened. */
  elapsed(since: Event): number {
    const start = liveEvent(since);
    if (start === null) throw new ArgumentTypeError('since', 'an Event', since);
    this.#select(1);
    u64[ADDRESS] = start;
    cuda().elapsed();
    check('two events with timing that have happened');
    return f64[NUMBER] as number;
  }

  #select(flags: number): void {
    u64[EVENT] = this.#live();
    i32[DEVICE] = this.#device.id;
    u32[FLAGS] = flags;
  }

  dispose(): void {
    this.#owned.release();
  }

  [disposeSymbol](): void {
    this.dispose();
  }
}
