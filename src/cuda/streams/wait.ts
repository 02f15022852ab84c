/** Waiting for a device without blocking the event loop. */

import { pin, unpin } from '../../native/memory/pins.js';
import { cuda, driverError, NOT_READY } from '../driver.js';

/** The work to wait for: the work that a stream has now, or the work that an event marks, by its owner. */
type Awaited =
  | { readonly stream: bigint; readonly owner?: never }
  | { readonly stream?: never; readonly owner: number };

/** Resolves when the work is over. */
export function whenDone({ stream = 0n, owner = 0 }: Awaited, device: number, what: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const binding = cuda();
    const id = pin(() => {
      clearInterval(timer);
      // The watcher only knows that the work is over. The device knows whether it failed, even if the stream no longer exists.
      const code = binding.queryDevice(device);
      if (code === 0 || code === NOT_READY) resolve();
      else reject(driverError(code, what));
    });
    const status = binding.watch(device, stream, owner, id);
    if (status !== 0) {
      unpin(id);
      reject(driverError(status, what));
    }
    // A wait keeps the process running. The native queue, which ends the wait in a later tick, does not.
    const timer = status === 0 ? setInterval(() => {}, 2 ** 30) : undefined;
  });
}
