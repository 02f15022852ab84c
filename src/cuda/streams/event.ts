/** CudaEvent: a point in the work of a stream. */

import { checkOptions, type OptionNames } from '../../base/options.js';
import type { StreamArgument } from '../../base/stream.js';
import type { Device, DeviceInfo } from '../../device.js';
import { ArgumentTypeError, DisposedError } from '../../errors.js';
import { disposeSymbol } from '../../storage/storage.js';
import { parseCudaDevice } from '../devices.js';
import { cuda, take } from '../driver.js';
import { Owned } from './owned.js';
import { mark, onEvent } from './requests.js';
import { handleOn } from './stream-handle.js';
import { whenDone } from './wait.js';

/** What an event is for. */
export interface CudaEventOptions {
  /** The default is `'cuda:0'`. */
  device?: Device;
  /** true: `elapsed` works. Events without timing are cheaper. The default is false. */
  timing?: boolean;
}

const optionNames: OptionNames<CudaEventOptions> = { device: true, timing: 'boolean' };

/** The handle of an event, even if a program overrides its properties; null for anything else. */
export let liveEvent: (value: unknown) => bigint | null;

/** An event of the driver. `owner` is its number in the native table, for Owned. */
export interface DriverEvent {
  readonly handle: bigint;
  readonly owner: number;
}

export function createEvent(device: DeviceInfo, flags: number, what: string): DriverEvent {
  const [handle, owner] = take(cuda().createEvent(device.id, flags), `${what} on '${device.name}'`);
  return { handle, owner };
}

const EVENT_BLOCKING_SYNC = 1;
export const EVENT_DISABLE_TIMING = 2;

/**
 * Marks a point in the work of a stream, to wait for or to measure from. An event without a record counts as completed.
 *
 * @example
 * ```ts
 * import { Stream } from 'dlpack/cuda';
 * using stream = new Stream();
 * using event = stream.record();
 * stream.synchronize(); // or: await event.done()
 * console.log(event.isDone); // true
 * ```
 */
export class CudaEvent {
  readonly #device: DeviceInfo;
  readonly #handle: bigint;
  readonly #owned: Owned;
  #isRecorded = false;

  static {
    liveEvent = (value) =>
      typeof value === 'object' && value !== null && #handle in value ? (value as CudaEvent).#liveHandle() : null;
  }

  /**
   * Makes an event.
   *
   * @param options - The device (`'cuda:0'` when absent), and whether it measures time (false when absent).
   * @throws LoadError without a driver, CudaError if the driver refuses, and ArgumentTypeError or ArgumentValueError
   *   for other options.
   */
  constructor(options: CudaEventOptions = {}) {
    checkOptions(options, optionNames, '{ timing: true }');
    const { device = 'cuda:0', timing = false } = options;
    this.#device = parseCudaDevice(device);
    const flags = EVENT_BLOCKING_SYNC | (timing === true ? 0 : EVENT_DISABLE_TIMING);
    const { handle, owner } = createEvent(this.#device, flags, 'an event');
    this.#handle = handle;
    this.#owned = new Owned(this, owner);
  }

  /** The device that it was made on. */
  get device(): Device {
    return this.#device.name;
  }

  /**
   * Returns the driver's handle.
   *
   * @throws DisposedError after `dispose()`.
   */
  get handle(): bigint {
    return this.#liveHandle();
  }

  #liveHandle(): bigint {
    if (this.#owned.isDisposed) throw new DisposedError('Expected a live event but it was disposed');
    return this.#handle;
  }

  /**
   * Records the event after the work that a stream has now. The default is the current stream of its device.
   *
   * @param stream - A stream of this package, of another library, or its handle.
   * @throws DisposedError after `dispose()`, and CudaError if the driver refuses.
   */
  record(stream?: StreamArgument): this {
    const handle = handleOn(this.#device, stream);
    mark('record', this.#device.id, handle, this.#liveHandle(), 'an event to be recorded');
    this.#isRecorded = true;
    return this;
  }

  /**
   * Tells whether the recorded work has finished.
   *
   * @throws DisposedError after `dispose()`, and CudaError if the work failed.
   */
  get isDone(): boolean {
    return onEvent('queryEvent', this.#device, this.#liveHandle());
  }

  /**
   * Blocks until the recorded work has finished.
   *
   * @throws DisposedError after `dispose()`, and CudaError if the work failed.
   */
  synchronize(): void {
    onEvent('synchronizeEvent', this.#device, this.#liveHandle());
  }

  /**
   * Resolves when the recorded work has finished.
   *
   * @throws DisposedError after `dispose()`, and CudaError if the work failed.
   */
  async done(): Promise<void> {
    this.#liveHandle();
    const { number: owner } = this.#owned;
    if (this.#isRecorded) await whenDone({ owner }, this.#device.id, `work on '${this.#device.name}' to succeed`);
  }

  /**
   * Milliseconds since an earlier event. Both events need `timing` and must have completed.
   *
   * @param since - The earlier event.
   * @returns Milliseconds, with parts.
   * @throws ArgumentTypeError if it is no CudaEvent, DisposedError after `dispose()`, and CudaError if an event has no
   *   timing or has not happened.
   */
  elapsed(since: CudaEvent): number {
    const start = liveEvent(since);
    if (start === null) throw new ArgumentTypeError('since', 'a CudaEvent', since);
    const event = this.#liveHandle();
    return take(cuda().elapsed(this.#device.id, start, event), 'two events with timing that have happened')[0];
  }

  /** Releases the event. A second call does nothing. */
  dispose(): void {
    this.#owned.free();
  }

  /** Releases it at the end of a block that begins with `using`. */
  [disposeSymbol](): void {
    this.dispose();
  }
}
