/**
 * Pins: values that JavaScript keeps alive for native code, by number, until their last native reference is released.
 */

/** Memory of a buffer to keep alive, or a deleter to call later. */
export type Pinned = Uint8Array | (() => void);

// A plain object, because patched methods of Map would receive private buffers.
const pins: Record<number, Pinned> = Object.create(null) as Record<number, Pinned>;
let lastId = 0;

/** Keeps a buffer alive until native code releases it, or calls a deleter at that time. Native code gets the number. */
export function pin(pinned: Pinned): number {
  pins[++lastId] = pinned;
  return lastId;
}

/**
 * Called for each number whose memory native code released, from the event loop of this environment or when a
 * PinnedStorage is disposed.
 */
export function released(id: number): void {
  const pinned = pins[id];
  if (pinned === undefined) return;
  delete pins[id];
  try {
    if (typeof pinned === 'function') pinned();
  } catch {
    // A foreign deleter threw. Another thread, the garbage collector, or the disposal of another tensor may have released
    // the memory, so there is no caller to report to.
  }
}

/** The memory that is pinned under a number; null for other numbers. */
export function pinnedMemory(id: number): Uint8Array | null {
  const pinned = pins[id];
  return pinned === undefined || typeof pinned === 'function' ? null : pinned;
}

/** Removes a pin that native code did not take over, without calling its deleter. */
export function unpin(id: number): void {
  delete pins[id];
}

/** For `liveCounts()` of `dlpack/debug`. */
export function pinCount(): number {
  let count = 0;
  for (const _ in pins) count++;
  return count;
}
