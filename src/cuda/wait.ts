/**
 * Waiting for a device without blocking the event loop.
 *
 * @module
 */

import { pin, unpin } from '../native/pins.js';
import { cuda, driverError, NOT_READY } from './driver.js';
import { ADDRESS, DEVICE, EVENT, FLAGS, f64, i32, NUMBER, STATUS, STREAM, u32, u64 } from './frame.js';

// A wait keeps the process running, as a timer does; the native queue that ends it does not.
let waiting = 0;
let keepAlive: ReturnType<typeof setInterval> | undefined;

function began(): void {
  if (waiting++ === 0) keepAlive = setInterval(() => {}, 2 ** 30);
}

function ended(): void {
  if (--waiting === 0) clearInterval(keepAlive);
}

/** What to wait for: what a stream has now, or what an event marks. */
export type Awaited = { readonly stream: bigint } | { readonly event: bigint; readonly owner: bigint };

function select(awaited: Awaited, device: number): void {
  i32[DEVICE] = device;
  if ('event' in awaited) {
    u64[EVENT] = awaited.event;
    u64[ADDRESS] = awaited.owner;
    u32[FLAGS] = 1;
  } else {
    u64[STREAM] = awaited.stream;
    u32[FLAGS] = 0;
  }
}

/** Resolves when it is done. */
export function whenDone(awaited: Awaited, device: number, what: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const binding = cuda();
    const id = pin(() => {
      ended();
      // That it is over the watcher tells; how it ended the device does, whatever became of the stream or event meanwhile.
      i32[DEVICE] = device;
      u32[FLAGS] = 2;
      binding.query();
      const code = i32[STATUS] as number;
      if (code === 0 || code === NOT_READY) resolve();
      else reject(driverError(what, code));
    });
    began();
    select(awaited, device);
    f64[NUMBER] = id;
    binding.watch();
    if (i32[STATUS] === 0) return;
    unpin(id);
    ended();
    reject(driverError(what));
  });
}
