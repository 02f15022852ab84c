/** Stream: a queue of work on a device, which runs in order. */

import { checkOptions, type OptionNames } from '../../base/options.js';
import type { StreamArgument } from '../../base/stream.js';
import type { Device, DeviceInfo } from '../../device.js';
import { ArgumentTypeError, ArgumentValueError } from '../../errors.js';
import { disposeSymbol } from '../../storage/storage.js';
import { parseCudaDevice } from '../devices.js';
import { check, cuda, take } from '../driver.js';
import { currentHandle, LEGACY_STREAM, PER_THREAD_STREAM, setCurrentHandle } from './current.js';
import { CudaEvent, type CudaEventOptions, liveEvent } from './event.js';
import { Owned } from './owned.js';
import { isCapturing, mark, onStream } from './requests.js';
import { foreignHandle, handleOn, rememberStream, StreamState, stateOf } from './stream-handle.js';
import { whenDone } from './wait.js';

/** How a stream is made. */
export interface StreamOptions {
  /** The default is `'cuda:0'`. */
  device?: Device;
  /** Lower numbers run first; 0, the lowest priority, when absent. */
  priority?: number;
  /** true: ordered with the legacy default stream, as streams of the CUDA runtime are by default. Here it is false when absent. */
  blocking?: boolean;
}

const optionNames: OptionNames<StreamOptions> = { device: true, priority: true, blocking: 'boolean' };

/** The handle of a foreign stream. Not exported: only this module makes streams from handles. */
class Foreign {
  constructor(readonly handle: bigint) {}
}

/** The streams that {@link Stream.use} set on this thread, by device number. */
const current: (Stream | undefined)[] = [];

/**
 * Represents a stream of a device. The driver keeps a disposed stream until its work has finished, and memory in use on
 * the stream keeps it alive, too.
 *
 * @example
 * ```ts
 * import { Tensor } from 'dlpack';
 * import { Stream } from 'dlpack/cuda';
 * using stream = new Stream();
 * const x = stream.use(() => Tensor.zeros([2], 'float32', { device: 'cuda:0' })); // queued there
 * stream.synchronize(); // or: await stream.done()
 * console.log(x.to('cpu').toArray()); // [0, 0]
 * ```
 */
export class Stream {
  readonly #state: StreamState;
  /** How many running calls of `use` have made this the current stream. It must not be destroyed meanwhile. */
  #uses = 0;
  #isEnding = false;

  /**
   * Makes a stream.
   *
   * @param options - The device (`'cuda:0'` when absent), the priority (0 when absent), and whether it is ordered with
   *   the legacy default stream (false when absent).
   * @throws LoadError without a driver, CudaError if the driver refuses, and ArgumentTypeError or ArgumentValueError
   *   for other options.
   */
  constructor(options?: StreamOptions);
  /** @internal */
  constructor(options: StreamOptions, foreign: Foreign);
  constructor(options: StreamOptions = {}, foreign?: Foreign) {
    checkOptions(options, optionNames, "{ device: 'cuda:0' }");
    const device = parseCudaDevice(options.device ?? 'cuda:0');
    if (foreign instanceof Foreign) {
      this.#state = rememberStream(this, new StreamState(device, foreign.handle, null));
      return;
    }
    const { priority = 0, blocking = false } = options;
    if (!Number.isInteger(priority) || Math.abs(priority) > 1000) {
      throw new ArgumentValueError('priority', 'a small integer', priority);
    }
    const made = cuda().createStream(device.id, !blocking, priority);
    const [handle, owner] = take(made, `a stream on '${device.name}'`);
    this.#state = rememberStream(this, new StreamState(device, handle, new Owned(this, owner)));
  }

  /**
   * Returns the legacy default stream, which libraries use by default.
   *
   * @param device - `'cuda:0'` when absent.
   * @throws ArgumentValueError for a device of another kind.
   */
  static default(device: Device = 'cuda:0'): Stream {
    return new Stream({ device }, new Foreign(LEGACY_STREAM));
  }

  /**
   * Returns the default stream of this thread.
   *
   * @param device - `'cuda:0'` when absent.
   * @throws ArgumentValueError for a device of another kind.
   */
  static perThread(device: Device = 'cuda:0'): Stream {
    return new Stream({ device }, new Foreign(PER_THREAD_STREAM));
  }

  /**
   * Returns the stream on which this thread queues work for a device: set by {@link use}, or the default stream.
   *
   * @param device - `'cuda:0'` when absent.
   * @throws ArgumentValueError for a device of another kind.
   */
  static current(device: Device = 'cuda:0'): Stream {
    const { id, name } = parseCudaDevice(device);
    return current[id] ?? Stream.default(name);
  }

  /**
   * Unsafe: a stream of another library, by its handle (`cudaStream_t`) or as that library's object, such as
   * `torch.cuda.current_stream()`. The stream must outlive all work that is queued on it here and every tensor that was
   * made or used on it.
   *
   * @param stream - A handle, or an object of another library.
   * @param device - Its device; `'cuda:0'` when absent.
   * @returns A stream that this package uses and never destroys.
   * @throws ArgumentTypeError or ArgumentValueError for anything that is no stream of this device.
   */
  static from(stream: bigint | object, device: Device = 'cuda:0'): Stream {
    return new Stream({ device }, new Foreign(foreignHandle(stream)));
  }

  /** The device whose work it orders. */
  get device(): Device {
    return this.#state.device.name;
  }

  /**
   * Returns the driver's handle, which Python libraries accept: `1n` and `2n` for the default streams, else an address.
   *
   * @throws DisposedError after `dispose()`, and ArgumentTypeError for an object that is no Stream.
   */
  get handle(): bigint {
    if (!(#state in this)) throw new ArgumentTypeError('stream', 'a Stream', this);
    return this.#state.liveHandle();
  }

  /**
   * Runs `action` with this as the current stream of its device, and restores the previous stream when it returns or
   * throws. In an async function this holds until the first `await`.
   *
   * @param action - What to run.
   * @returns The result of the action.
   * @throws ArgumentTypeError if the action is no function, and DisposedError after `dispose()`.
   */
  use<T>(action: () => T): T {
    if (typeof action !== 'function') throw new ArgumentTypeError('action', 'a function', action);
    const handle = this.#state.liveHandle();
    const { id } = this.#state.device;
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
      if (--this.#uses === 0 && this.#isEnding) this.#state.owned?.free();
    }
  }

  /** Blocks until all queued work has finished. */
  synchronize(): void {
    onStream('synchronizeStream', this.#state.device, this.#state.liveHandle(), 'a stream of ');
  }

  /** Resolves when all work that is queued now has finished. */
  async done(): Promise<void> {
    const { id, name } = this.#state.device;
    await whenDone({ stream: this.#state.liveHandle() }, id, `work on a stream of '${name}' to succeed`);
  }

  /** True when all queued work has finished. */
  get isDone(): boolean {
    return onStream('queryStream', this.#state.device, this.#state.liveHandle(), 'a stream of ');
  }

  /** True while queued work is captured into a graph instead of running. */
  get isCapturing(): boolean {
    return isCapturing(this.#state.device.id, this.#state.liveHandle());
  }

  /**
   * Makes work that is queued from now on wait for an event, or for the work that another stream has now.
   *
   * @param other - An event, a stream, or a stream's handle.
   * @throws DisposedError after `dispose()`, and CudaError if the driver refuses.
   */
  wait(other: CudaEvent | StreamArgument): void {
    const event = liveEvent(other);
    const { device } = this.#state;
    const what = `a stream of '${device.name}' to wait`;
    if (event !== null) {
      mark('wait', device.id, this.#state.liveHandle(), event, what);
      return;
    }
    const stream = other as StreamArgument;
    const awaitedOn = stateOf(stream)?.device ?? device;
    const awaited = handleOn(awaitedOn, stream);
    const handle = this.#state.liveHandle();
    check(cuda().order(device.id, handle, awaitedOn.id, awaited), what);
  }

  /**
   * Records a new event after the work that is queued now.
   *
   * @param options - `timing: true` for `elapsed`; false when absent.
   * @returns An event, which you dispose.
   */
  record(options: Pick<CudaEventOptions, 'timing'> = {}): CudaEvent {
    checkOptions(options, { timing: 'boolean' }, '{ timing: true }');
    const event = new CudaEvent({ ...options, device: this.#state.device.name });
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
    else this.#state.owned?.free();
  }

  /** Releases it at the end of a block that begins with `using`. */
  [disposeSymbol](): void {
    this.dispose();
  }
}

/** Runs `action` with a given stream as the current stream of a device. 0n is the default stream here, too. */
export function useStream<T>(device: DeviceInfo, stream: StreamArgument, action: () => T): T {
  const handle = stream === 0n ? LEGACY_STREAM : handleOn(device, stream);
  return (stream instanceof Stream ? stream : Stream.from(handle, device.name)).use(action);
}
