/**
 * Debug mode: records where each live storage and export was made, to find leaks.
 *
 * @module
 */

/** A live import, allocation or export, and the stack trace of its origin. */
export interface Origin {
  readonly kind: 'storage' | 'export';
  readonly stack: string;
}

let enabled =
  (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env?.DLPACK_DEBUG === '1';
const storages = new Map<number, string>();
const exports = new Map<number, string>();
/** The numbers differ between threads, because native code lists the exports of all threads. */
let lastPlace = Math.floor(Math.random() * 2 ** 20) * 2 ** 32;

/** Starts or stops recording. The environment variable DLPACK_DEBUG=1 starts it at load time. */
export function setDebug(on: boolean): void {
  enabled = on;
  if (!on) {
    storages.clear();
    exports.clear();
  }
}

export function isDebug(): boolean {
  return enabled;
}

function origin(): string {
  const stack = new Error('origin').stack ?? '';
  // Drop the message and the frames of this file.
  return stack.split('\n').slice(3).join('\n');
}

/** In debug mode: records the origin of the storage with this handle. */
export function recordStorage(handle: number): void {
  storages.set(handle, origin());
}

export function forgetStorage(handle: number): void {
  storages.delete(handle);
}

/** A number for an export that is about to be made; 0 when debug mode is off. */
export function recordExport(): number {
  if (!enabled) return 0;
  exports.set(++lastPlace, origin());
  return lastPlace;
}

/** The origins of live storages and exports. `livePlaces` are the exports that native code still lists. */
export function liveOrigins(livePlaces: ReadonlySet<number>): Origin[] {
  for (const place of exports.keys()) {
    if (!livePlaces.has(place)) exports.delete(place);
  }
  return [
    ...Array.from(storages.values(), (stack): Origin => ({ kind: 'storage', stack })),
    ...Array.from(exports.values(), (stack): Origin => ({ kind: 'export', stack })),
  ];
}
