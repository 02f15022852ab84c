/**
 * Stream: a queue of work on a device, which runs in order.
 *
 * @module
 */

import type { Device, DeviceInfo } from '../device.js';
import { ArgumentTypeError, ArgumentValueError, DisposedError } from '../errors.js';
import { leave, wire } from '../native/wire.js';
import { checkOptions, type OptionNames } from '../options.js';
import type { StreamArgument } from '../stream.js';
import { currentHandle, LEGACY_STREAM, PER_THREAD_STREAM, setCurrentHandle } from './current.js';
import { parseCudaDevice } from './devices.js';
import { check, NOT_READY } from './driver.js';
import { Event, type EventOptions, eventOptionNames, handleOn, liveEvent, setStreamReader } from './event.js';
import { foreignHandle } from './foreign-stream.js';
import { disposeSymbol, Owned } from './owned.js';
import { begin, finish, isCapturing, mark, onStream, send } from './requests.js';
import { whenDone } from './wait.js';
import { CreateStreamRequest, OrderRequest } from './wire-layout.js';

const { i32, u32, u64 } = wire;

export interface StreamOptions {
  device?: Device;
  /** Lower numbers run first; 0 is the lowest priority. */
  priority?: number;
  /** true: ordered with the legacy default stream, which is the default for streams of the CUDA runtime. */
  blocking?: boolean;
}

const optionNames: OptionNames<StreamOptions> = { device: true, priority: true, blocking: true };

/** The handle of a foreign stream. Not exported: only this module makes streams from handles. */
class Foreign {
  readonly handle: bigint;

  constructor(handle: bigint) {
    this.handle = handle;
  }
}

/** The streams that {@link Stream.use} set on this thread, by device number. */
const current: (Stream | undefined)[] = [];

/**
 * A stream of a device. The driver keeps a disposed stream until its work has finished, and memory in use on the stream
 * keeps it alive, too.
 */
export class Stream {
  readonly #device: DeviceInfo;
  readonly #handle: bigint;
  readonly #owned: Owned | null;
  /** How many running calls of `use` have made this the current stream. It must not be destroyed meanwhile. */
  #uses = 0;
  #isEnding = false;

  static {
    setStreamReader((value) => {
      if (typeof value !== 'object' || value === null || !(#handle in value)) return null;
      const stream = value as Stream;
      return { handle: stream.#live(), device: stream.#device };
    });
  }

  constructor(options: StreamOptions = {}, foreign?: Foreign) {
    checkOptions(options, optionNames, "{ device: 'cuda:0' }");
    this.#device = parseCudaDevice(options.device ?? 'cuda:0');
    if (foreign instanceof Foreign) {
      this.#handle = foreign.handle;
      this.#owned = null;
      return;
    }
    const { priority = 0, blocking = false } = options;
    if (!Number.isInteger(priority) || Math.abs(priority) > 1000) {
      throw new ArgumentValueError('priority', 'a small integer', priority);
    }
    const slot = begin(CreateStreamRequest.WORDS, this.#device.id);
    i32[slot * 2 + CreateStreamRequest.PRIORITY] = priority;
    u32[slot * 2 + CreateStreamRequest.IS_NON_BLOCKING] = blocking ? 0 : 1;
    const status = send(slot, 'createStream');
    this.#handle = u64[slot + CreateStreamRequest.STREAM] as bigint;
    const owner = u64[slot + CreateStreamRequest.OWNER] as bigint;
    leave(slot);
    check(status, `a stream on '${this.#device.name}'`);
    this.#owned = new Owned(this, owner);
  }

  /** The legacy default stream, which libraries use by default. */
  static default(device: Device = 'cuda:0'): Stream {
    return new Stream({ device }, new Foreign(LEGACY_STREAM));
  }

  /** The default stream of this thread. */
  static perThread(device: Device = 'cuda:0'): Stream {
    return new Stream({ device }, new Foreign(PER_THREAD_STREAM));
  }

  /** The stream on which this thread queues work for a device: set by {@link use}, or the default stream. */
  static current(device: Device = 'cuda:0'): Stream {
    const { id, name } = parseCudaDevice(device);
    return current[id] ?? Stream.default(name);
  }

  /**
   * Unsafe: a stream of another library, by its handle (`cudaStream_t`) or as that library's object, such as
   * `torch.cuda.current_stream()`. The stream must outlive all work that is queued on it here and every tensor that was
   * made or used on it.
   */
  static from(stream: bigint | object, device: Device = 'cuda:0'): Stream {
    return new Stream({ device }, new Foreign(foreignHandle(stream)));
  }

  get device(): Device {
    return this.#device.name;
  }

  /** The driver's handle, which Python libraries accept: `1n` and `2n` for the default streams, else an address. */
  get handle(): bigint {
    if (!(#handle in this)) throw new ArgumentTypeError('stream', 'a Stream', this);
    return this.#live();
  }

  /** Not the property `handle`, which a program can override, because the driver crashes on a wrong handle. */
  #live(): bigint {
    if (this.#owned?.isDisposed === true) throw new DisposedError('Expected a live stream but it was disposed');
    return this.#handle;
  }

  /**
   * Runs `action` with this as the current stream of its device, and restores the previous stream when it returns or
   * throws. In an async function this holds until the first `await`.
   */
  use<T>(action: () => T): T {
    if (typeof action !== 'function') throw new ArgumentTypeError('action', 'a function', action);
    const handle = this.#live();
    const { id } = this.#device;
    const before = current[id];
    const handleBefore = currentHandle(id);
    const thereBefore = setCurrentHandle(id, handle);
    current[id] = this;
    this.#uses++;
    try {
      return action();
    } finally {
      current[id] = before;
      setCurrentHandle(id, handleBefore, thereBefore);
      if (--this.#uses === 0 && this.#isEnding) this.#owned?.release();
    }
  }

  /** Blocks until all queued work has finished. */
  synchronize(): void {
    const status = onStream('synchronizeStream', this.#device.id, this.#live());
    check(status, `work on a stream of '${this.#device.name}' to succeed`);
  }

  /** Resolves when all work that is queued now has finished. */
  async done(): Promise<void> {
    await whenDone({ stream: this.#live() }, this.#device.id, `work on a stream of '${this.#device.name}' to succeed`);
  }

  /** True when all queued work has finished. */
  get isDone(): boolean {
    const status = onStream('queryStream', this.#device.id, this.#live());
    if (status === NOT_READY) return false;
    check(status, `work on a stream of '${this.#device.name}' to succeed`);
    return true;
  }

  /** True while queued work is captured into a graph instead of running. */
  get isCapturing(): boolean {
    return isCapturing(this.#device.id, this.#live());
  }

  /** Makes work that is queued from now on wait for an event, or for the work that another stream has now. */
  wait(other: Event | StreamArgument): void {
    const event = liveEvent(other);
    const status = event === null ? this.#order(other as StreamArgument) : this.#mark(event);
    check(status, `a stream of '${this.#device.name}' to wait`);
  }

  #mark(event: bigint): number {
    return mark('wait', this.#device.id, this.#live(), event);
  }

  #order(other: StreamArgument): number {
    const device = typeof other === 'object' && other !== null && #device in other ? other.#device : this.#device;
    const awaited = handleOn(device, other);
    const handle = this.#live();
    const slot = begin(OrderRequest.WORDS, this.#device.id);
    i32[slot * 2 + OrderRequest.AWAITED_DEVICE] = device.id;
    u64[slot + OrderRequest.STREAM] = handle;
    u64[slot + OrderRequest.AWAITED] = awaited;
    return finish(slot, 'order');
  }

  /** Records a new event after the work that is queued now. */
  record(options: EventOptions = {}): Event {
    checkOptions(options, eventOptionNames, '{ timing: true }');
    const event = new Event({ ...options, device: this.#device.name });
    try {
      event.record(this);
      return event;
    } catch (error) {
      event.dispose();
      throw error;
    }
  }

  /** Releases the stream, once it is no longer current. Queued work still runs. Streams of other libraries stay. */
  dispose(): void {
    if (this.#uses > 0) this.#isEnding = true;
    else this.#owned?.release();
  }

  [disposeSymbol](): void {
    this.dispose();
  }
}

/** Runs `action` with a given stream as the current stream of a device. 0n is the default stream here, too. */
export function useStream<T>(device: DeviceInfo, stream: StreamArgument, action: () => T): T {
  const handle = stream === 0n ? LEGACY_STREAM : handleOn(device, stream);
  return (stream instanceof Stream ? stream : Stream.from(handle, device.name)).use(action);
}
