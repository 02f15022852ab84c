/**
 * The interpreter: CPython in this process.
 *
 * @module
 */

import { LoadError } from '../errors.js';
import { native } from '../native/load.js';
import type { PythonBinding } from './binding.js';
import { findPython, type PythonOptions } from './find.js';
import { objectFrame } from './frame.js';
import {
  getItem,
  importModule,
  kwargs,
  makeTuple,
  type PyArgument,
  type PyObject,
  setBinding,
  setItem,
} from './object.js';

/** CPython in this process. */
export interface Python {
  /** `import name` of Python. */
  import(name: string): PyObject;
  /** Keyword arguments for the end of a call. */
  kwargs: typeof kwargs;
  /** A tuple; JavaScript arrays become lists. */
  tuple(...values: PyArgument[]): PyObject;
  /** `object[key]`. */
  getItem(object: PyObject, key: PyArgument): PyObject;
  /** `object[key] = value`. */
  setItem(object: PyObject, key: PyArgument, value: PyArgument): void;
}

let interpreter: Python | null = null;

/**
 * Starts Python in this process, or attaches to one that runs in it already. There is one for the process, and it is never
 * stopped: later calls return the same, whatever their options.
 */
export function python(options: PythonOptions = {}): Python {
  if (interpreter !== null) return interpreter;
  const binding = native();
  const { library, program, venv } = findPython(options);
  const started = binding.startPython({ library, program, frame: objectFrame });
  if (typeof started === 'string') {
    throw new LoadError(
      'Python',
      [`${library}: ${started}`],
      ['use a CPython 3.9 or newer with a shared library: python({ executable: "/path/to/python3" })'],
    );
  }
  setBinding(started as PythonBinding);
  interpreter = {
    import: importModule,
    kwargs,
    tuple: (...values) => makeTuple(values),
    getItem,
    setItem,
  };
  if (venv !== null) enterEnvironment(venv);
  return interpreter;
}

/** Newer Pythons take no program name: their packages are found by this. */
function enterEnvironment(venv: string): void {
  const sys = importModule('sys') as unknown as { prefix: string; version_info: PyObject };
  if (sys.prefix === venv) return;
  const [major, minor] = [...sys.version_info] as unknown as [number, number];
  const { addsitedir } = importModule('site') as unknown as { addsitedir(folder: string): void };
  addsitedir(
    process.platform === 'win32' ? `${venv}\\Lib\\site-packages` : `${venv}/lib/python${major}.${minor}/site-packages`,
  );
}
