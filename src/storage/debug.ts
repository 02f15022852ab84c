/** Debug mode: records where each live storage, export, GPUBuffer and Python object was made, to find leaks. */

import { variable } from '../base/variable.js';
import { ArgumentTypeError } from '../errors.js';
import type { Descriptor } from './descriptor.js';
import type { Storage } from './storage.js';

/** Live imports, allocations, exports or Python objects of one kind that were made in one place, for tensors of one dtype, shape and device. */
export interface Leak {
  /** What is alive: memory of tensors, memory that a consumer holds, a GPUBuffer, or a Python object. */
  readonly kind: 'storage' | 'export' | 'gpu-buffer' | 'python-object';
  /** How many of them are alive. */
  readonly count: number;
  /** The bytes of all of them together. */
  readonly bytes: number;
  /** Of the first tensor over the memory; null before there was one. */
  readonly dtype: string | null;
  /** The shape of that tensor. */
  readonly shape: readonly number[] | null;
  /** The device of that tensor. */
  readonly device: string | null;
  /** The stack trace of the place, without the frames inside this package in front of it. */
  readonly stack: string;
}

type Kind = Leak['kind'];
/** One live object. */
interface Entry {
  readonly bytes: number;
  readonly stack: string;
  tensor: { readonly dtype: string; readonly shape: readonly number[]; readonly device: string } | null;
}

const firstPlace = () => Math.floor(Math.random() * 2 ** 20) * 2 ** 32;

// The mark of a pure call lets a bundler omit it from a program that does not use this module.
let enabled = /* @__PURE__ */ variable('DLPACK_DEBUG') === '1';
const entries = {
  storage: new Map<unknown, Entry>(),
  export: new Map<unknown, Entry>(),
  'gpu-buffer': new Map<unknown, Entry>(),
  'python-object': new Map<unknown, Entry>(),
};
/** The entries of storages. Weak, because a record must not keep memory alive. */
const ofStorage = /* @__PURE__ */ new WeakMap<Storage, Entry>();
/** The numbers differ between threads, because native code lists the exports of all threads. */
let lastPlace = /* @__PURE__ */ firstPlace();

/**
 * Starts or stops recording. The environment variable DLPACK_DEBUG=1 starts it at load time.
 *
 * @param on - true to start. false also forgets what was recorded.
 * @throws ArgumentTypeError for anything but a boolean.
 * @example
 * ```ts
 * import { setDebug } from 'dlpack/debug';
 * setDebug(true); // before the tensors are made
 * ```
 */
export function setDebug(on: boolean): void {
  if (typeof on !== 'boolean') throw new ArgumentTypeError('on', 'true or false', on);
  enabled = on;
  if (!on) for (const kind of Object.values(entries)) kind.clear();
}

export function isDebug(): boolean {
  return enabled;
}

/** More than V8's ten frames, because an allocation on a device has as many inside this package. */
const FRAMES = 30;

/** The stack of the program, from the first frame outside this package on. A hook of the program does not run. */
export function origin(): string {
  const settings = Error as { stackTraceLimit?: number; prepareStackTrace?: unknown };
  const { stackTraceLimit, prepareStackTrace } = settings;
  if (prepareStackTrace !== undefined) settings.prepareStackTrace = undefined;
  if (stackTraceLimit !== undefined) settings.stackTraceLimit = Math.max(stackTraceLimit, FRAMES);
  const lines = (new Error('origin').stack ?? '').split('\n');
  if (stackTraceLimit !== undefined) settings.stackTraceLimit = stackTraceLimit;
  if (prepareStackTrace !== undefined) settings.prepareStackTrace = prepareStackTrace;
  return withoutOwnFrames(lines.slice(lines[0]?.startsWith('Error') ? 1 : 0)).join('\n');
}

/** Starts at the first frame outside this package. A bundle of a program has both in one file, and keeps all frames. */
function withoutOwnFrames(frames: readonly string[]): readonly string[] {
  // Without a regular expression, which an engine cannot compile where the stack is full.
  const own = (frames[0] ?? '').replaceAll('\\', '/');
  const end = Math.max(own.indexOf('/dist/chunks/'), own.indexOf('/dist/browser.js'));
  const folder = own.slice(Math.max(own.indexOf('('), own.indexOf('@')) + 1, end);
  const first = end === -1 ? -1 : frames.findIndex((frame) => !frame.replaceAll('\\', '/').includes(`${folder}/dist/`));
  return first === -1 ? frames : frames.slice(first);
}

/** In debug mode: records the origin of memory, until {@link forget} is called with the same key. */
export function record(kind: Kind, key: unknown, storage: Storage): void {
  const entry: Entry = { bytes: storage.nbytes, stack: origin(), tensor: null };
  entries[kind].set(key, entry);
  ofStorage.set(storage, entry);
}

/** As `record`, for a Python object. */
export function recordObject(handle: number, bytes: number, stack = origin()): void {
  entries['python-object'].set(handle, { bytes, stack, tensor: null });
}

/** Describes the Python objects that are recorded, when somebody looks: only Python knows their dtypes and shapes. */
export function describeObjects(describeObject: (handle: number) => Entry['tensor']): void {
  for (const [handle, entry] of entries['python-object']) entry.tensor = describeObject(handle as number);
}

export function forget(kind: Kind, key: unknown): void {
  entries[kind].delete(key);
}

const describe = ({ dtype, shape, device }: Descriptor): Entry['tensor'] => ({
  dtype: dtype.name,
  shape: Object.freeze([...shape]), // a copy, so that user code cannot change what the native core relies on
  device: device.name,
});

/** In debug mode: remembers the first tensor over memory that was recorded. */
export function recordTensor(descriptor: Descriptor): void {
  const entry = ofStorage.get(descriptor.storage);
  if (entry !== undefined) entry.tensor ??= describe(descriptor);
}

/** A number for an export that is about to be made; 0 when debug mode is off. */
export function recordExport(descriptor: Descriptor): number {
  if (!enabled) return 0;
  entries.export.set(++lastPlace, { bytes: descriptor.nbytes, stack: origin(), tensor: describe(descriptor) });
  return lastPlace;
}

/** The live objects of one kind, by the place that made them. */
function originsOf(kind: Kind): Leak[] {
  const groups = new Map<string, { count: number; bytes: number; entry: Entry }>();
  for (const entry of entries[kind].values()) {
    const key = JSON.stringify([entry.tensor, entry.stack]);
    const group = groups.get(key) ?? { count: 0, bytes: 0, entry };
    group.count++;
    group.bytes += entry.bytes;
    groups.set(key, group);
  }
  return Array.from(groups.values(), ({ count, bytes, entry: { tensor, stack } }) => ({
    kind,
    count,
    bytes,
    dtype: tensor?.dtype ?? null,
    shape: tensor?.shape ?? null,
    device: tensor?.device ?? null,
    stack,
  }));
}

/** Forgets the exports that native code does not list any more. */
export function forgetExports(livePlaces: ReadonlySet<number>): void {
  for (const place of entries.export.keys()) {
    if (!livePlaces.has(place as number)) entries.export.delete(place);
  }
}

/** The origins of everything that is alive, those with the most bytes first. */
export function liveOrigins(): Leak[] {
  const kinds = ['storage', 'export', 'gpu-buffer', 'python-object'] as const;
  return kinds.flatMap(originsOf).sort((a, b) => b.bytes - a.bytes);
}
