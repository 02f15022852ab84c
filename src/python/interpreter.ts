/**
 * The interpreter: CPython in this process.
 *
 * @module
 */

import { resolve } from 'node:path';
import { ArgumentValueError, LoadError } from '../errors.js';
import { native } from '../native/load.js';
import { isMainThread } from '../native/threads.js';
import { checkOptions, type OptionNames } from '../options.js';
import type { Tensor } from '../tensor.js';
import { registerArrayReader } from './array-interface.js';
import { callAsync, onSettle } from './async.js';
import { type PythonBinding, setBinding } from './binding.js';
import { callable, onCall } from './callbacks.js';
import { PythonError } from './error.js';
import { type FoundPython, findPython, type PythonOptions } from './find.js';
import { float, kwargs } from './keywords.js';
import {
  callTensor,
  getItem,
  importModule,
  importObjects,
  makeTuple,
  type PyArgument,
  type PyObject,
  setItem,
} from './object.js';
import { released } from './reference.js';
import { makeTensor, type TensorOptions, type TensorSource } from './tensor.js';

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
  /** A number that is a float to Python, also where it is whole: `torch.tensor([py.float(1), py.float(2)])`. */
  float: typeof float;
  /** A call on another thread, as a promise. */
  callAsync: typeof callAsync;
  /** A JavaScript function as a Python object, to keep and to release; passed as an argument it becomes one by itself. */
  callable: typeof callable;
  /** A tuple; JavaScript arrays become lists. */
  tuple(...values: PyArgument[]): PyObject;
  /**
   * A JavaScript tensor as an object of Python over the same memory: `py.tensor(x, torch.Tensor)`. A class with an exchange
   * table makes it directly, which is the fastest way into such a library; for other classes `from_dlpack` of their module
   * is called. Without a class it is an object with `__dlpack__` and the buffer protocol, to be passed on many times.
   *
   * A class that cannot have the memory as it is gets a copy: PyTorch for negative strides, and what takes no notice of
   * read-only memory for such. With `copy: false` that is a `BufferError`, with `copy: true` there is always one.
   */
  tensor(source: TensorSource, type?: PyObject, options?: TensorOptions): PyObject;
  /** Calls what returns a tensor: `fromDLPack(callable(...args))` in one step, without the object in between. */
  callTensor(callable: PyObject, ...args: PyArgument[]): Tensor;
  /** `object[key]`. */
  getItem<T = PyObject>(object: PyObject, key: PyArgument): T;
  /** `object[key] = value`. */
  setItem(object: PyObject, key: PyArgument, value: PyArgument): void;
}

const optionNames: OptionNames<PythonOptions> = {
  executable: true,
  venv: true,
  library: true,
  threads: true,
  signals: true,
};

let running: { readonly python: Python; readonly options: PythonOptions; readonly found: FoundPython } | null = null;

/**
 * Starts Python in this process, or attaches to one that runs in it already. A process has one Python, which is never
 * stopped: later calls return the same object, and throw when they name another Python than the one that runs.
 */
export function python(options: PythonOptions = {}): Python {
  checkOptions(options, optionNames, '{ executable: "/path/to/python3" }');
  if (running !== null) {
    checkSame(options, running.options, running.found);
    return running.python;
  }
  const binding = native();
  const found = findPython(options);
  const { library, program, venv } = found;
  const { threads = 0, signals = 'javascript' } = options;
  if (!Number.isInteger(threads) || threads < 0 || threads > 128) {
    throw new ArgumentValueError('threads', 'a number from 1 to 128', threads);
  }
  if (signals !== 'javascript' && signals !== 'python') {
    throw new ArgumentValueError('signals', "'javascript' or 'python'", signals);
  }
  const isWorker = !isMainThread;
  const pythonSignals = signals === 'python';
  const started = binding.startPython({
    library,
    program,
    released,
    isWorker,
    pythonSignals,
    threads,
    makeBytes,
    onCall,
    onSettle,
  });
  if (typeof started === 'string') {
    throw new LoadError(
      'Python',
      [`${library}: ${started}`],
      ['use a CPython 3.9 or newer with a shared library: python({ executable: "/path/to/python3" })'],
    );
  }
  setBinding(started as PythonBinding);
  if (isMainThread) process.on('exit', (status) => (started as PythonBinding).leave(status));
  importObjects();
  registerArrayReader();
  const interpreter: Python = {
    import: importOrExplain,
    eval: (expression) => runInMain('eval', expression),
    exec: (statements) => void runInMain('exec', statements),
    kwargs,
    float,
    callAsync,
    callable,
    tuple: (...values) => makeTuple(values),
    tensor: makeTensor,
    callTensor: (callable, ...args) => callTensor(callable, args),
    getItem,
    setItem,
  };
  running = { python: interpreter, options: { ...options }, found };
  if (venv !== null) enterEnvironment(venv);
  return interpreter;
}

/** Throws for an option that differs from the first call's and from what that call found. */
function checkSame(options: PythonOptions, first: PythonOptions, found: FoundPython): void {
  const paths = { executable: found.program, venv: found.venv, library: found.library };
  for (const name of ['executable', 'venv', 'library'] as const) {
    const wanted = options[name];
    if (wanted === undefined || wanted === first[name]) continue;
    const used = first[name] ?? paths[name];
    if (used === null || resolve(wanted) !== resolve(used)) throw conflict(name, used, wanted);
  }
  for (const name of ['threads', 'signals'] as const) {
    const wanted = options[name];
    if (wanted !== undefined && wanted !== first[name]) throw conflict(name, first[name] ?? null, wanted);
  }
}

function conflict(name: string, used: string | number | null, wanted: string | number): ArgumentValueError {
  const expected = used === null ? 'no value, as in the first call' : `${JSON.stringify(used)}, as in the first call`;
  return new ArgumentValueError(
    name,
    expected,
    wanted,
    'a process has one Python: name it in the first call of python()',
  );
}

/** Native code cannot make a large array without the risk that the process ends. */
function makeBytes(length: number): Uint8Array | undefined {
  try {
    return new Uint8Array(length);
  } catch {
    return undefined;
  }
}

/** Runs code of the user, which may import: the import at the end has signals that a library took given back. */
function runInMain(name: 'eval' | 'exec', code: string): PyObject {
  try {
    return importModule('builtins')[name](code, importModule('__main__').__dict__);
  } finally {
    importModule('builtins');
  }
}

/** A module; where Python has none of that name, what to do about it. */
function importOrExplain(name: string): PyObject {
  try {
    return importModule(name);
  } catch (error) {
    if (!(error instanceof PythonError) || error.type !== 'ModuleNotFoundError') throw error;
    const { executable } = importModule('sys') as { executable: string };
    // Of a module of a package, or one that it needs itself, the package is what can be installed.
    const missing = /'([^'.]+)[^']*'/.exec(error.message)?.[1] ?? name;
    throw new LoadError(
      `the Python module ${name}`,
      [error.message],
      [`install it: ${executable} -m pip install ${missing}`],
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
