/**
 * Pins: what JavaScript keeps alive for native code, by number, until its last native reference is released.
 *
 * @module
 */

const pins = new Map<number, () => void>();
let lastId = 0;

/** Keeps a value alive until `release` is due; the number goes to native code. */
export function pin(release: () => void): number {
  lastId++;
  pins.set(lastId, release);
  return lastId;
}

/** Called from the event loop of this environment, for each number whose memory native code gave up. */
export function released(id: number): void {
  const release = pins.get(id);
  pins.delete(id);
  try {
    release?.();
  } catch {
    // A foreign deleter threw; the memory was given up on another thread or by the collector, and nobody is waiting.
  }
}

/** For `stats()`. */
export function pinCount(): number {
  return pins.size;
}
