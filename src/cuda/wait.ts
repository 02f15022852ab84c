/**
 * Waiting for a device without blocking the event loop.
 *
 * @module
 */

import { pin, unpin } from '../native/pins.js';
import { wire } from '../native/wire.js';
import { cuda, driverError, NOT_READY } from './driver.js';
import { begin, finish, onDevice } from './requests.js';
import { WatchEventRequest, WatchStreamRequest } from './wire-layout.js';

const { f64, u64 } = wire;

// A wait keeps the process running, as a timer does. The native queue that ends the wait does not.
let waiting = 0;
let keepAlive: ReturnType<typeof setInterval> | undefined;

function began(): void {
  if (waiting++ === 0) keepAlive = setInterval(() => {}, 2 ** 30);
}

function ended(): void {
  if (--waiting === 0) clearInterval(keepAlive);
}

/** The work to wait for: the work that a stream has now, or the work that an event marks. */
export type Awaited = { readonly stream: bigint } | { readonly event: bigint; readonly owner: bigint };

/** Calls the function of the pin when the work is over. Returns the CUresult. */
function watch(awaited: Awaited, device: number, pin: number): number {
  if ('event' in awaited) {
    const slot = begin(WatchEventRequest.WORDS, device);
    f64[slot + WatchEventRequest.PIN] = pin;
    u64[slot + WatchEventRequest.OWNER] = awaited.owner;
    return finish(slot, 'watchEvent');
  }
  const slot = begin(WatchStreamRequest.WORDS, device);
  f64[slot + WatchStreamRequest.PIN] = pin;
  u64[slot + WatchStreamRequest.STREAM] = awaited.stream;
  return finish(slot, 'watchStream');
}

/** Resolves when the work is over. */
export function whenDone(awaited: Awaited, device: number, what: string): Promise<void> {
  return new Promise((resolve, reject) => {
    cuda();
    const id = pin(() => {
      ended();
      // The watcher only knows that the work is over. The device knows whether it failed, even if the stream no longer exists.
      const code = onDevice('queryDevice', device);
      if (code === 0 || code === NOT_READY) resolve();
      else reject(driverError(code, what));
    });
    began();
    const status = watch(awaited, device, id);
    if (status === 0) return;
    unpin(id);
    ended();
    reject(driverError(status, what));
  });
}
