/** Python and its libraries, probed once; each missing one is named for `testWith`. */

import { isDLPackError } from 'dlpack';
import { type PyObject, type Python, python } from 'dlpack/python';

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

/** A Python value that is no object arrives as a JavaScript value; this says so to the compiler. */
export const value = <T>(x: unknown): T => x as T;
