/** Debug mode: records where each live storage, export and GPUBuffer was made, to find leaks. */

import { variable } from '../base/variable.js';

/** A live import, allocation or export, and the stack trace of its origin. */
export interface Origin {
  readonly kind: 'storage' | 'export' | 'gpu-buffer';
  readonly stack: string;
}

const firstPlace = () => Math.floor(Math.random() * 2 ** 20) * 2 ** 32;

// The mark of a pure call lets a bundler omit it from a program that does not use this module.
let enabled = /* @__PURE__ */ variable('DLPACK_DEBUG') === '1';
const stacks = {
  storage: new Map<unknown, string>(),
  export: new Map<unknown, string>(),
  'gpu-buffer': new Map<unknown, string>(),
};
/** The numbers differ between threads, because native code lists the exports of all threads. */
let lastPlace = /* @__PURE__ */ firstPlace();

/** Starts or stops recording. The environment variable DLPACK_DEBUG=1 starts it at load time. */
export function setDebug(on: boolean): void {
  enabled = on;
  if (!on) for (const kind of Object.values(stacks)) kind.clear();
}

export function isDebug(): boolean {
  return enabled;
}

/** More than V8's ten frames, because an allocation on a device has as many inside this package. */
const FRAMES = 30;

function origin(): string {
  const limited = Error as { stackTraceLimit?: number };
  const { stackTraceLimit } = limited;
  if (stackTraceLimit !== undefined) limited.stackTraceLimit = Math.max(stackTraceLimit, FRAMES);
  const lines = (new Error('origin').stack ?? '').split('\n');
  if (stackTraceLimit !== undefined) limited.stackTraceLimit = stackTraceLimit;
  // Drop the frames of this file, and the message, which V8 puts first.
  return lines.slice(lines[0]?.startsWith('Error') ? 3 : 2).join('\n');
}

/** In debug mode: records the origin of an object, until {@link forget} is called with the same key. */
export function record(kind: Origin['kind'], key: unknown): void {
  stacks[kind].set(key, origin());
}

export function forget(kind: Origin['kind'], key: unknown): void {
  stacks[kind].delete(key);
}

/** A number for an export that is about to be made; 0 when debug mode is off. */
export function recordExport(): number {
  if (!enabled) return 0;
  stacks.export.set(++lastPlace, origin());
  return lastPlace;
}

export function originsOf(kind: Origin['kind']): Origin[] {
  return Array.from(stacks[kind].values(), (stack) => ({ kind, stack }));
}

/** The origins of live storages, exports and GPUBuffers. `livePlaces` are the exports that native code still lists. */
export function liveOrigins(livePlaces: ReadonlySet<number>): Origin[] {
  for (const place of stacks.export.keys()) {
    if (!livePlaces.has(place as number)) stacks.export.delete(place);
  }
  return (['storage', 'export', 'gpu-buffer'] as const).flatMap(originsOf);
}
