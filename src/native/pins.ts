/**
 * Pins: what JavaScript keeps alive for native code, by number, until its last native reference is released.
 *
 * @module
 */

/** A buffer that must stay, or a deleter that must wait. */
export type Pinned = ArrayBufferLike | (() => void);

// A plain object: patched methods of Map would be handed buffers that nobody may see.
const pins: Record<number, Pinned> = Object.create(null) as Record<number, Pinned>;
let lastId = 0;
let count = 0;

/** Keeps a buffer alive, or calls a deleter, until or when native code gives it up. The number goes to native code. */
export function pin(pinned: Pinned): number {
  lastId++;
  count++;
  pins[lastId] = pinned;
  return lastId;
}

/** Called from the event loop of this environment, for each number whose memory native code gave up. */
export function released(id: number): void {
  const pinned = pins[id];
  if (pinned === undefined) return;
  delete pins[id];
  count--;
  try {
    if (typeof pinned === 'function') pinned();
  } catch {
    // A foreign deleter threw; the memory was given up on another thread or by the collector, and nobody is waiting.
  }
}

/** Takes back what native code did not take: it will not be called. */
export function unpin(id: number): void {
  if (pins[id] === undefined) return;
  delete pins[id];
  count--;
}

/** For `stats()`. */
export function pinCount(): number {
  return count;
}
