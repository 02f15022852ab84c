/** Python and its libraries, probed once; each missing one is named for `testWith`. */

import { isDLPackError } from 'dlpack';
import { callAsync, type PyObject, type Python, PythonError, python } from 'dlpack/python';
import { ok } from '../../assert.js';
import { collect, repeatUntil } from '../../harness.js';

let interpreter: Python | null = null;
let pythonMissing: string | false = false;
try {
  interpreter = python();
} catch (error) {
  pythonMissing = isDLPackError(error) ? error.message : String(error);
}

export const py = interpreter as Python;
export { pythonMissing };

/** A module, or what is missing. */
export function probe(name: string): { module: PyObject; missing: string | false } {
  if (pythonMissing !== false) return { module: null as never, missing: pythonMissing };
  try {
    return { module: py.import(name), missing: false };
  } catch (error) {
    return { module: null as never, missing: `the Python module ${name} (${String(error).split('\n')[0]})` };
  }
}

/** Whether a Python module has this version, such as `'2.14'`, or a newer one. */
export function isSince(module: PyObject, version: string): boolean {
  const [major = 0, minor = 0] = String(module.__version__).split('.').map(Number);
  const [wantedMajor = 0, wantedMinor = 0] = version.split('.').map(Number);
  return major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
}

/** Names what is missing for arrays of NumPy over our memory that Python can write to, and for read-only ones of NumPy. */
export function versionedNumPyMissing(): string | false {
  const { module, missing } = probe('numpy');
  return missing || (isSince(module, '2.1') ? false : 'NumPy 2.1, which knows versioned capsules');
}

/** True for a Python whose threads run at the same time. */
export const isFreeThreaded =
  interpreter?.eval('getattr(__import__("sys"), "_is_gil_enabled", lambda: True)()') === false;

/**
 * Collects and lets Python's threads run. A free-threaded Python releases some objects only when the thread that made them
 * runs again, or its collector.
 */
export async function settle(): Promise<void> {
  const pause = py.eval('lambda: [__import__("time").sleep(0.002) for _ in range(2)].clear()');
  await collect();
  await Promise.all(Array.from({ length: 16 }, () => callAsync(pause)));
  py.exec(isFreeThreaded ? 'import gc; gc.collect()' : 'pass');
}

/** Settles until `done`. */
export const settleUntil = (done: () => boolean): Promise<boolean> => repeatUntil(done, settle);

/** Some Python values arrive as JavaScript values; this is their type for the compiler. */
export const value = <T>(x: unknown): T => x as T;

/** The action raises one of these exceptions (`'TypeError|ValueError'`), and its message contains `text`. */
export function raises(type: string, text: string, action: () => unknown): void {
  try {
    action();
  } catch (error) {
    ok(
      error instanceof PythonError && type.split('|').includes(error.type) && error.message.includes(text),
      String(error),
    );
    return;
  }
  throw new Error(`expected ${type}`);
}

/** Runs statements and returns the values of the names. */
export function define(code: string, ...names: string[]): PyObject[] {
  const space = py.eval('{}');
  py.import('builtins').exec(code, space);
  return names.map((name) => py.getItem(space, name));
}
