/**
 * Pinned memory that uploads keep for the next upload, such as that of the next shard.
 *
 * @module
 */

import { cuda, isLoaded } from './driver.js';

/** How long it is kept after the last upload, in milliseconds. */
const PATIENCE = 1000;

let isTimed = false;
let isUsed = false;

/** Releases the memory when no upload has used it for a while. */
export function releasePinnedLater(): void {
  isUsed = true;
  if (!isTimed) startTimer();
}

function startTimer(): void {
  isTimed = true;
  isUsed = false;
  const timer = setTimeout(() => {
    isTimed = false;
    if (isUsed || cuda().releasePinned(false)) startTimer();
  }, PATIENCE) as unknown as { unref?: () => void };
  timer.unref?.();
}

/** Releases the memory that no upload uses. Waits until the device has read it. */
export function releasePinned(): void {
  if (isLoaded()) cuda().releasePinned(true);
}
