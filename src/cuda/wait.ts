/** Waiting for a device without blocking the event loop. */

import { pin, unpin } from '../native/pins.js';
import { wire } from '../native/wire.js';
import { cuda, driverError, NOT_READY } from './driver.js';
import { begin, queryDevice, send } from './requests.js';
import { WatchRequest } from './wire-layout.js';

const { f64, u32, u64 } = wire;

/** The work to wait for: the work that a stream has now, or the work that an event marks, by its owner. */
type Awaited =
  | { readonly stream: bigint; readonly owner?: never }
  | { readonly stream?: never; readonly owner: number };

/** Calls the function of the pin when the work is over. Returns the CUresult. */
function watch({ stream = 0n, owner = 0 }: Awaited, device: number, pin: number): number {
  const slot = begin(WatchRequest.WORDS, device);
  f64[slot + WatchRequest.PIN] = pin;
  u32[slot * 2 + WatchRequest.OWNER] = owner;
  u64[slot + WatchRequest.STREAM] = stream;
  return send(slot, 'watch');
}

/** Resolves when the work is over. */
export function whenDone(awaited: Awaited, device: number, what: string): Promise<void> {
  return new Promise((resolve, reject) => {
    cuda();
    const id = pin(() => {
      clearInterval(timer);
      // The watcher only knows that the work is over. The device knows whether it failed, even if the stream no longer exists.
      const code = queryDevice(device);
      if (code === 0 || code === NOT_READY) resolve();
      else reject(driverError(code, what));
    });
    const status = watch(awaited, device, id);
    if (status !== 0) {
      unpin(id);
      reject(driverError(status, what));
    }
    // A wait keeps the process running. The native queue, which ends the wait in a later tick, does not.
    const timer = status === 0 ? setInterval(() => {}, 2 ** 30) : undefined;
  });
}
