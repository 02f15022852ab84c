/**
 * Event: a point in the work of a stream.
 *
 * @module
 */

import type { Device, DeviceInfo } from '../device.js';
import { ArgumentTypeError, ArgumentValueError, DisposedError } from '../errors.js';
import { currentHandle, type StreamLike } from './current.js';
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

const EVENT_BLOCKING_SYNC = 1;
const EVENT_DISABLE_TIMING = 2;

/** A point in the work of a stream, to wait for or to measure from. One that was never recorded has happened. */
export class Event {
  readonly #device: DeviceInfo;
  readonly #handle: bigint;
  readonly #owned: Owned;
  #isRecorded = false;

  constructor(options: EventOptions = {}) {
    this.#device = parseCudaDevice(options.device ?? 'cuda:0');
    const binding = cuda();
    i32[DEVICE] = this.#device.id;
    u32[FLAGS] = EVENT_BLOCKING_SYNC | (options.timing === true ? 0 : EVENT_DISABLE_TIMING);
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
    if (this.#owned.isDisposed) throw new DisposedError('Expected a live event but it was disposed');
    return this.#handle;
  }

  /** Moves the event behind what a stream has now; without one, the current stream of its device. */
  record(stream?: StreamLike): this {
    const { handle } = this;
    const on = stream === undefined ? currentHandle(this.#device.id) : stream.handle;
    if (stream !== undefined && stream.device !== this.#device.name) {
      throw new ArgumentValueError('stream', `a stream of '${this.#device.name}'`, stream.device);
    }
    if (typeof on !== 'bigint') throw new ArgumentTypeError('stream', 'a Stream', stream);
    i32[DEVICE] = this.#device.id;
    u64[STREAM] = on;
    u64[EVENT] = handle;
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
    const { handle } = this;
    if (this.#isRecorded)
      await whenDone(
        { event: handle, owner: this.#owned.address },
        this.#device.id,
        `work on '${this.#device.name}' to succeed`,
      );
  }

  /** Milliseconds since an earlier event. Both need `timing` and must have happened. */
  elapsed(since: Event): number {
    if (!(since instanceof Event)) throw new ArgumentTypeError('since', 'an Event', since);
    const start = since.handle;
    this.#select(1);
    u64[ADDRESS] = start;
    cuda().elapsed();
    check('two events with timing that have happened');
    return f64[NUMBER] as number;
  }

  #select(flags: number): void {
    u64[EVENT] = this.handle;
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
