/** Finds and loads the addon, once, on first use. */

import type { NativeStatus } from '../../base/native-status.js';
import { variable } from '../../base/variable.js';
import { ArgumentTypeError, ArgumentValueError, LoadError } from '../../errors.js';
import type { Addon, Binding } from '../binding.js';
import { watchKept } from '../memory/kept-blocks.js';
import { released } from '../memory/pins.js';
import { isMainThread } from '../memory/threads.js';
import { wire } from '../wire/memory.js';
import { node } from './node-modules.js';
import { shipped } from './shipped.js';
import { findTarget } from './target.js';

const { resolve } = node.path;

/** The number by which native code asks this instance to watch the kept blocks. Pins have larger numbers. */
const WATCH_BLOCKS = 0;

let binding: Binding | null = null;
/** The exports of the loaded addon, and the requested path. */
let source: { readonly exports: unknown; readonly file: string } | null = null;
let failure: { readonly target: string; readonly reason: string; readonly cause: unknown } | null = null;
let hasWarned = false;

/** The loaded addon. If the first attempt failed, every later call throws a `LoadError` with the same reason. */
export function native(): Binding {
  if (binding !== null || isNativeAvailable()) return binding as Binding;
  throw loadError();
}

/** What the loaded file exports. */
export function addonExports(): Addon {
  native();
  return (source as NonNullable<typeof source>).exports as Addon;
}

function isNativeAvailable(): boolean {
  return binding !== null || (failure === null && load(variable('DLPACK_ADDON') || null));
}

/** Whether the core has native memory. The core works without it, but warns once with the reason. */
export function hasNativeMemory(): boolean {
  if (binding !== null || isNativeAvailable()) return true;
  if (!hasWarned && variable('DLPACK_QUIET') !== '1') {
    const text = `Tensors live in JavaScript memory. ${loadError().message}\n  do: set DLPACK_QUIET=1 to hide this warning`;
    process.emitWarning(text, { type: 'DLPackWarning', code: 'DLPACK_NO_ADDON' });
  }
  hasWarned = true;
  return false;
}

/**
 * Loads the addon from this file instead of the package, for executables and bundles that have it elsewhere. The
 * environment variable `DLPACK_ADDON` does the same.
 *
 * @param path - The path of the file, relative to the working directory.
 * @throws ArgumentTypeError for a path that is no string, and ArgumentValueError if another addon is loaded already.
 * @throws LoadError if the file is no addon of this package for this platform.
 * @example
 * ```ts no-run: needs the addon in a folder of its own
 * import { loadAddon } from 'dlpack/native';
 * loadAddon('./addons/dlpack.node');
 * ```
 */
export function loadAddon(path: string): void {
  if (typeof path !== 'string') throw new ArgumentTypeError('path', 'the path of a file', path);
  const file = resolve(path);
  if (binding === null) {
    if (!load(file)) throw loadError();
  } else if (pathOf() !== file) {
    throw new ArgumentValueError('path', `the addon that is loaded already, ${pathOf()},`, path);
  }
}

/**
 * Returns whether the native part of the package is loaded, from which file, or why not. The first call tries to load
 * it.
 */
export function nativeStatus(): NativeStatus {
  if (isNativeAvailable()) return { loaded: true, path: pathOf(), reason: null };
  return { loaded: false, path: null, reason: (failure as NonNullable<typeof failure>).reason };
}

/**
 * The path of the loaded addon. Runtimes keep native modules in the cache of `require` by path, but a bundler's own
 * loader may not.
 */
function pathOf(): string {
  const { exports, file } = source as NonNullable<typeof source>;
  const cache = node.module.createRequire(process.execPath).cache as Record<string, { exports?: unknown } | undefined>;
  return Object.entries(cache).find(([, module]) => module?.exports === exports)?.[0] ?? file;
}

/** Whether two paths of a library name one file. */
export function isSameFile(a: string, b: string): boolean {
  if (a === b) return true;
  try {
    return node.fs.realpathSync(a) === node.fs.realpathSync(b);
  } catch {
    return false; // there is no such file, or the system's loader finds it by name
  }
}

/** The addon that `npx dlpack build` made for a target without a prebuilt addon, or null. */
function findBuilt(target: string): string | null {
  const { addons, folder } = shipped.load();
  if (target in addons || folder === null) return null;
  const file = `${folder}/${target}/dlpack.node`;
  return node.fs.existsSync(file) ? file : null;
}

/** Loads the addon from `given`, or from the package if it is null. Returns false and sets `failure` on failure. */
function load(given: string | null): boolean {
  const target = findTarget();
  let file = `prebuilds/${target}/dlpack.node`;
  try {
    const path = given ?? findBuilt(target);
    if (path !== null) file = resolve(path);
    const open = path === null ? shipped.load().addons[target] : () => node.module.createRequire(file)(file);
    if (open === undefined) {
      failure = { target, reason: `the package has no addon for ${target}`, cause: undefined };
      return false;
    }
    const addon = open() as Addon;
    // Another evaluation of this package may use the same file in this thread. Each has its own instance.
    const onRelease = (id: number): void => (id === WATCH_BLOCKS ? watchKept(made) : released(id));
    const made = addon.createInstance({ wire: wire.buffer, onRelease });
    // Now, because Bun's node:worker_threads calls methods of Map, which a program may patch later.
    isMainThread();
    binding = made;
    source = { exports: addon, file };
    failure = null;
    return true;
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    failure = { target, reason: `${file}: ${message.split('\n')[0]}`, cause };
    return false;
  }
}

/** What a user can do about the addon on this runtime. */
function suggestions(): string[] {
  const permission =
    'Deno' in globalThis
      ? ['allow native code with --allow-ffi --allow-read --allow-env']
      : 'Bun' in globalThis
        ? []
        : ['start Node without --no-addons, and with --permission also with --allow-addons'];
  return [
    ...permission,
    'in a bundle or a single executable, name the file in DLPACK_ADDON, or with loadAddon(path) of dlpack/native',
    'on a platform without an addon, compile it: npx dlpack build (in a clone of the repository: npm run build)',
    'or do nothing: without the addon, tensors live in JavaScript memory and only native exchange is missing',
  ];
}

/** A new error for each call, with the stack of that call. */
function loadError(): LoadError {
  const { target, reason, cause } = failure as NonNullable<typeof failure>;
  return new LoadError(`the native part of dlpack for ${target}`, [reason], suggestions(), { cause });
}
