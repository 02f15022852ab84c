/**
 * The interpreter: CPython in this process.
 *
 * @module
 */

import { ArgumentValueError, LoadError } from '../errors.js';
import { native } from '../native/load.js';
import { callAsync, onSettle } from './async.js';
import type { PythonBinding } from './binding.js';
import { callable, causeOf, onCall, prepareFunction } from './callbacks.js';
import { PythonError } from './error.js';
import { findPython, type PythonOptions } from './find.js';
import { objectFrame } from './frame.js';
import { kwargs } from './keywords.js';
import { getItem, importModule, makeTuple, type PyArgument, type PyObject, setBinding, setItem } from './object.js';

/** CPython in this process. */
export interface Python {
  /** `import name` of Python. */
  import<T = PyObject>(name: string): T;
  /** The value of an expression, in the namespace of `__main__`. */
  eval<T = PyObject>(expression: string): T;
  /** Runs statements in the namespace of `__main__`. */
  exec(statements: string): void;
  /** Keyword arguments for the end of a call. */
  kwargs: typeof kwargs;
  /** A call on another thread, as a promise. */
  callAsync: typeof callAsync;
  /** A JavaScript function as a Python object, to keep and to release; passed as an argument it becomes one by itself. */
  callable: typeof callable;
  /** A tuple; JavaScript arrays become lists. */
  tuple(...values: PyArgument[]): PyObject;
  /** `object[key]`. */
  getItem<T = PyObject>(object: PyObject, key: PyArgument): T;
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
  const { threads = 0 } = options;
  if (!Number.isInteger(threads) || threads < 0 || threads > 128) {
    throw new ArgumentValueError('threads', 'a number from 1 to 128', threads);
  }
  const started = binding.startPython({ library, program, threads, frame: objectFrame, onCall, onSettle });
  if (typeof started === 'string') {
    throw new LoadError(
      'Python',
      [`${library}: ${started}`],
      ['use a CPython 3.9 or newer with a shared library: python({ executable: "/path/to/python3" })'],
    );
  }
  setBinding(started as PythonBinding, { prepareFunction, causeOf });
  interpreter = {
    import: importOrExplain,
    eval: (expression) => importModule('builtins').eval(expression, importModule('__main__').__dict__),
    exec: (statements) => importModule('builtins').exec(statements, importModule('__main__').__dict__),
    kwargs,
    callAsync,
    callable,
    tuple: (...values) => makeTuple(values),
    getItem,
    setItem,
  };
  if (venv !== null) enterEnvironment(venv);
  return interpreter;
}

/** A module; where Python has none of that name, what to do about it. */
function importOrExplain(name: string): PyObject {
  try {
    return importModule(name);
  } catch (error) {
    if (!(error instanceof PythonError) || error.type !== 'ModuleNotFoundError') throw error;
    const { executable } = importModule('sys') as { executable: string };
    throw new LoadError(
      `the Python module ${name}`,
      [error.message],
      [`install it: ${executable} -m pip install ${name}`],
      {
        cause: error,
      },
    );
  }
}

/** Newer Pythons take no program name: their packages are found by this. */
function enterEnvironment(venv: string): void {
  const sys = importModule('sys') as { prefix: string; version_info: Iterable<number> };
  if (sys.prefix === venv) return;
  const [major, minor] = [...sys.version_info];
  const { addsitedir } = importModule('site') as { addsitedir(folder: string): void };
  addsitedir(
    process.platform === 'win32' ? `${venv}\\Lib\\site-packages` : `${venv}/lib/python${major}.${minor}/site-packages`,
  );
}
