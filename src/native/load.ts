/**
 * Finds and loads the addon, once, on first need.
 *
 * @module
 */

// The default export: webpack rewrites calls of a `createRequire` that is imported by name.
import nodeModule from 'node:module';
import { resolve } from 'node:path';
import { ArgumentTypeError, ArgumentValueError, LoadError } from '../errors.js';
import type { NativeStatus } from '../native-status.js';
import addons from './addon.cjs';
import type { Addon, Binding } from './binding.js';
import { released } from './pins.js';
import { findTarget } from './target.js';
import { wire } from './wire.js';

let binding: Binding | null = null;
/** What was loaded, and the path that was asked for. */
let source: { readonly exports: unknown; readonly file: string } | null = null;
let failure: { readonly target: string; readonly reason: string; readonly cause: unknown } | null = null;
let hasWarned = false;

/** The loaded addon; throws a `LoadError` with the reason of the first attempt at every later one. */
export function native(): Binding {
  if (binding !== null || isNativeAvailable()) return binding as Binding;
  throw loadError();
}

function isNativeAvailable(): boolean {
  return binding !== null || (failure === null && load(variable('DLPACK_ADDON') || null));
}

/** Whether the core has native memory. It goes on without; the first time that it does, a warning tells the user why. */
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
 * Loads the addon from this file instead of the one in the package: for executables and bundles that carry it elsewhere. The variable
 * `DLPACK_ADDON` does the same. Throws when an addon from another file is loaded already.
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

/** Whether the native part of the package is loaded, from where, or why not. Loads it where that was not tried yet. */
export function nativeStatus(): NativeStatus {
  if (isNativeAvailable()) return { loaded: true, path: pathOf(), reason: null };
  return { loaded: false, path: null, reason: (failure as NonNullable<typeof failure>).reason };
}

/** Reading a variable throws in Deno without the permission. */
function variable(name: string): string | undefined {
  try {
    return process.env[name];
  } catch {
    return undefined;
  }
}

/** Runtimes keep native modules by path in the cache of `require`; a bundler's own loader may keep none there. */
function pathOf(): string {
  const { exports, file } = source as NonNullable<typeof source>;
  const cache = nodeModule.createRequire(process.execPath).cache as Record<string, { exports?: unknown } | undefined>;
  return Object.entries(cache).find(([, module]) => module?.exports === exports)?.[0] ?? file;
}

/** Loads the addon from `path`, or from the package when it is null. False, with the reason in `failure`, when it does not load. */
function load(path: string | null): boolean {
  const target = findTarget();
  const file = path === null ? `prebuilds/${target}/dlpack.node` : resolve(path);
  const open = path === null ? addons[target] : () => nodeModule.createRequire(file)(file);
  if (open === undefined) {
    failure = { target, reason: `the package has no addon for ${target}`, cause: undefined };
    return false;
  }
  try {
    const addon = open() as Addon;
    // Where another evaluation of this package uses the same file in this thread, it has an instance of its own.
    const instance = addon.createInstance({ wire: wire.buffer, onRelease: released });
    // A copy: V8 keeps an object that native code gave many properties as a hash table, and each call would search it.
    binding = { ...instance };
    source = { exports: addon, file };
    failure = null;
    return true;
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    failure = { target, reason: `${file}: ${message.split('\n')[0]}`, cause };
    return false;
  }
}

/** A new one for each call, whose stack is that call's. */
function loadError(): LoadError {
  const { target, reason, cause } = failure as NonNullable<typeof failure>;
  return new LoadError(
    `the native part of dlpack for ${target}`,
    [reason],
    [
      'in a clone of the repository, run "npm run build"',
      'in a bundle or a single executable, name the file in DLPACK_ADDON, or with loadAddon(path) of dlpack/native',
      'in Deno, allow native code with --allow-ffi --allow-read --allow-env',
      'in Node, do not start with --no-addons',
      'without it, tensors live in JavaScript memory and only native exchange is missing',
    ],
    { cause },
  );
}
