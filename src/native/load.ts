/**
 * Finds and loads the addon, once, on first need.
 *
 * @module
 */

import { createRequire } from 'node:module';
import { LoadError } from '../errors.js';
import type { Addon, Binding } from './binding.js';
import { released } from './pins.js';
import { wire } from './wire.js';

let binding: Binding | null = null;
let failure: LoadError | null = null;

/** The loaded addon; throws the `LoadError` of the first attempt at every later one. */
export function native(): Binding {
  return binding ?? load();
}

/** True when the addon is, or can be, loaded. */
export function isNativeAvailable(): boolean {
  try {
    native();
    return true;
  } catch {
    return false;
  }
}

function load(): Binding {
  if (failure !== null) throw failure;
  const target = `${process.platform}-${process.arch}`;
  const tried: string[] = [];
  let cause: unknown;
  // The musl binary is tried where the glibc one does not load; detecting the libc would need more code than trying.
  for (const folder of process.platform === 'linux' ? [target, `${target}-musl`] : [target]) {
    try {
      const addon = createRequire(import.meta.url)(`../../prebuilds/${folder}/dlpack.node`) as Addon;
      // Where another evaluation of this package uses the same file in this thread, it has an instance of its own.
      const instance = addon.createInstance({ wire: wire.buffer, onRelease: released });
      // A copy: V8 keeps an object that native code gave many properties as a hash table, and each call would search it.
      binding = { ...instance };
      return binding;
    } catch (error) {
      cause ??= error;
      const reason = error instanceof Error ? error.message.split('\n')[0] : String(error);
      tried.push(`prebuilds/${folder}/dlpack.node: ${reason}`);
    }
  }
  failure = new LoadError(
    `the native part of dlpack for ${target}`,
    tried,
    [
      'in a clone of the repository, run "npm run build"',
      'in Deno, allow native code with --allow-ffi --allow-read --allow-env',
      'in Node, do not start with --no-addons',
      'without it, tensors live in JavaScript memory and only native exchange is missing',
    ],
    { cause },
  );
  throw failure;
}
