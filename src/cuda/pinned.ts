/**
 * Pinned memory that uploads keep for the next upload, such as that of the next shard.
 *
 * @module
 */

import { node } from '../native/node-modules.js';
import { cuda, isLoaded } from './driver.js';

const { setTimeout } = node.timers;

/** How long it is kept after the last upload, in milliseconds. */
const PATIENCE = 1000;

let timer: NodeJS.Timeout | null = null;

/** Releases the memory when no upload has used it for a while. */
export function releasePinnedLater(): void {
  timer ??= setTimeout(() => {
    timer = null;
    if (cuda().releasePinned(false)) releasePinnedLater();
  }, PATIENCE).unref();
  timer.refresh();
}

/** Releases the memory that no upload uses. Waits until the device has read it. */
export function releasePinned(): void {
  if (isLoaded()) cuda().releasePinned(true);
}
