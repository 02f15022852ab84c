/** The interpreter: CPython in this process. */

import { checkOptions, type OptionNames } from '../../base/options.js';
import type { AsyncOptions } from '../../base/signal.js';
import { ArgumentTypeError, ArgumentValueError, LoadError } from '../../errors.js';
import { native } from '../../native/load/load.js';
import { node } from '../../native/load/node-modules.js';
import { isMainThread } from '../../native/memory/threads.js';
import { describeObjects, isDebug } from '../../storage/debug.js';
import { foreignLibrary } from '../../storage/foreign.js';
import { memorySources } from '../../storage/memory-sources.js';
import { outsideScopes } from '../../storage/scoped.js';
import type { Tensor } from '../../tensor.js';
import { binding, startPython } from '../binding.js';
import { callable, onCall } from '../calls/callbacks.js';
import { float, kwargs } from '../calls/keywords.js';
import { perform } from '../calls/operations.js';
import { PythonError } from '../error.js';
import { describeObject } from '../objects/describe-object.js';
import {
  callTensor,
  getItem,
  importModule,
  type PyArgument,
  type PyObject,
  type PythonModules,
  referenceOf,
  setItem,
  takeObject,
} from '../objects/object.js';
import { release, settle } from '../objects/reference.js';
import { readArray, takeArray } from '../tensors/array-interface.js';
import { makeTensor, type TensorOptions, type TensorSource } from '../tensors/conversion.js';
import { callAsync, callTensorAsync, onSettle } from '../threads/async.js';
import { awaitPython } from '../threads/await.js';
import { callToJSAsync, loadHelpers, toJS } from '../values/to-js.js';
import { Operation, ReleasedList } from '../wire-layout.js';
import { type FoundPython, findPython, type PythonOptions } from './find.js';
import { packageOf } from './packages.js';

const { resolve } = node.path;

/** CPython in this process. */
export interface Python {
  /**
   * Imports a module, as Python's `import name` does, whose types `npx dlpack types` has written.
   *
   * @param name - The module, such as `'numpy'` or `'torch.nn'`.
   * @returns The module, as a Python object.
   * @throws LoadError for a missing package; the message names the command that installs it.
   * @throws PythonError if the import raises another error.
   */
  import<K extends keyof PythonModules>(name: K): PythonModules[K];
  /**
   * Imports a module, as Python's `import name` does. The name may have dots: `import('os.path')` is the module
   * `os.path`.
   *
   * @param name - The module, such as `'numpy'` or `'torch.nn'`.
   * @returns The module, as a Python object.
   * @throws LoadError for a missing package; the message names the command that installs it.
   * @throws PythonError if the import raises another error.
   * @example
   * ```ts
   * import { python } from 'dlpack/python';
   * const math = python().import('math');
   * console.log(math.sqrt(16)); // 4
   * ```
   */
  import<T = PyObject>(name: string): T;
  /**
   * Evaluates an expression in the namespace of `__main__`.
   *
   * @param expression - Python code.
   * @returns A plain value, or a Python object.
   * @throws PythonError if it raises.
   * @example
   * ```ts
   * import { python } from 'dlpack/python';
   * console.log(python().eval('1 + 1')); // 2
   * ```
   */
  eval<T = PyObject>(expression: string): T;
  /**
   * Runs statements in the namespace of `__main__`. They may be indented, as in a template literal.
   *
   * @param statements - Python code.
   * @throws PythonError if it raises.
   * @example
   * ```ts
   * import { python } from 'dlpack/python';
   * const py = python();
   * py.exec(`
   *   def twice(x):
   *       return 2 * x
   * `);
   * console.log(py.eval('twice')(21)); // 42
   * ```
   */
  exec(statements: string): void;
  /** Keyword arguments for the end of a call. */
  kwargs: typeof kwargs;
  /** A number that Python receives as a float even if it is whole: `torch.tensor([py.float(1), py.float(2)])`. */
  float: typeof float;
  /** Calls a Python function on another thread and returns a promise. */
  callAsync: typeof callAsync;
  /** Calls a Python function on another thread and returns a promise of the JavaScript value of its result, as `toJS`. */
  callToJSAsync: typeof callToJSAsync;
  /** Calls a Python function on another thread and returns a promise of the tensor of its result. */
  callTensorAsync: typeof callTensorAsync;
  /**
   * Waits for a Python future, coroutine or other awaitable: `await py.async(session.get(url))`. It takes
   * concurrent.futures, asyncio's futures and tasks, any object with `add_done_callback` (Dask's futures), and objects
   * whose `future()` returns one (Ray's ObjectRefs). Coroutines run on an asyncio loop with a thread of its own. No
   * thread of the pool waits. The signal cancels the future. `for await` iterates Python's asynchronous generators.
   *
   * @param awaitable - The future, coroutine or other awaitable.
   * @returns A promise of the result: a plain value, or a Python object.
   * @throws PythonError if it fails, and the signal's reason when the signal aborts.
   */
  async<T = PyObject>(awaitable: PyObject, options?: AsyncOptions): Promise<T>;
  /**
   * A Python object for a JavaScript function, which the program can keep and release. A function that is passed as an
   * argument becomes such an object automatically.
   */
  callable: typeof callable;
  /**
   * Makes a Python tuple. JavaScript arrays become lists.
   *
   * @param values - Its items, converted as arguments.
   * @returns The tuple.
   * @throws ArgumentTypeError for a value that Python cannot take.
   */
  tuple(...values: PyArgument[]): PyObject;
  /**
   * Makes a Python object over the memory of a JavaScript tensor: `py.tensor(x, torch.Tensor)`. A class with an
   * exchange table makes the object directly, which is the fastest way into such a library. For other classes this
   * calls `from_dlpack` of their module. Without a class the result is an object with `__dlpack__` and the buffer
   * protocol, which can be passed on many times.
   *
   * A class that cannot use the memory as it is gets a copy: PyTorch for negative strides, and classes that ignore the
   * read-only flag for read-only memory. `copy: false` throws a `BufferError` instead, and `copy: true` always copies.
   *
   * @param source - A tensor of this package or of any library with the protocol.
   * @param type - A Python class, such as `torch.Tensor`; none when absent.
   * @param options - `copy`; a copy only where the class needs one when absent.
   * @returns A Python object that owns the memory together with the tensor.
   * @throws BufferError if a copy is needed and `copy: false` forbids it.
   * @example
   * ```ts
   * import { Tensor } from 'dlpack';
   * import { python } from 'dlpack/python';
   * const py = python();
   * const x = Tensor.from([1, 2]);
   * py.tensor(x, py.import('numpy').ndarray).fill(7); // NumPy over the memory of x
   * console.log(x.toArray()); // [7, 7]
   * ```
   */
  tensor(source: TensorSource, type?: PyObject, options?: TensorOptions): PyObject;
  /**
   * Calls a function that returns a tensor: `fromDLPack(callable(...args))` in one step, without a proxy.
   *
   * @param callable - A Python function or any callable.
   * @param args - Its arguments; `kwargs({ ... })` last.
   * @returns A tensor over Python's memory, without a copy.
   * @throws PythonError if the function raises, and what `fromDLPack` throws if its result is no tensor.
   * @example
   * ```ts
   * import { python } from 'dlpack/python';
   * const py = python();
   * console.log(py.callTensor(py.import('numpy').arange, 3).toArray()); // [0n, 1n, 2n]
   * ```
   */
  callTensor(callable: PyObject, ...args: PyArgument[]): Tensor;
  /**
   * The JavaScript value of a Python value, with everything inside it: lists and tuples become arrays, dicts objects or
   * Maps, sets Sets, arrays and tensors Tensors over the same memory, NumPy's scalars numbers, `datetime`s Dates, and
   * dataclasses objects. Other Python objects stay as they are.
   */
  toJS: typeof toJS;
  /**
   * Returns an item of a container, as Python's `object[key]` does.
   *
   * @param object - A list, dict, array or other container.
   * @param key - An index or a key; `py.tuple(i, j)` for several axes.
   * @returns A plain value, or a Python object.
   * @throws PythonError if there is no such item.
   * @example
   * ```ts
   * import { python } from 'dlpack/python';
   * const py = python();
   * console.log(py.getItem(py.eval('{"a": 1}'), 'a')); // 1
   * ```
   */
  getItem<T = PyObject>(object: PyObject, key: PyArgument): T;
  /**
   * Sets an item of a container, as Python's `object[key] = value` does.
   *
   * @param object - A list, dict, array or other container.
   * @param key - An index or a key; `py.tuple(i, j)` for several axes.
   * @param value - The new item, converted as an argument.
   * @throws PythonError if Python refuses the item.
   * @example
   * ```ts
   * import { python } from 'dlpack/python';
   * const py = python();
   * const dict = py.eval('{}');
   * py.setItem(dict, 'a', 1);
   * console.log(py.getItem(dict, 'a')); // 1
   * ```
   */
  setItem(object: PyObject, key: PyArgument, value: PyArgument): void;
  /**
   * Releases Python objects that you no longer need, as `object[Symbol.dispose]()` does: `py.release(a, b)`.
   *
   * @param objects - Python objects. A second release does nothing.
   */
  release(...objects: PyObject[]): void;
}

const optionNames: OptionNames<PythonOptions> = {
  executable: true,
  venv: true,
  library: true,
  threads: true,
  signals: true,
  exitTimeout: true,
};

/** The Python of this process: the options of the call that started it, and what that call found. */
interface Started {
  readonly options: PythonOptions;
  readonly found: FoundPython;
}

let running: (Started & { readonly python: Python }) | null = null;

/**
 * Starts Python in this process, or attaches to a Python that already runs in it. A process has one Python, which never
 * stops. Later calls, also those in workers, use the same Python, and throw when they name another one.
 *
 * @param given - Which Python, how many threads, who handles signals; `VIRTUAL_ENV`, `.venv` or `python3` on the `PATH`
 *   when absent.
 * @returns The interpreter, the same for every call in this process.
 * @throws LoadError if there is no Python 3.9 or newer with a shared library; the message says what to install.
 * @throws ArgumentTypeError or ArgumentValueError for a wrong option, or one that names another Python than the running
 *   one.
 * @example
 * ```ts
 * import { fromDLPack } from 'dlpack';
 * import { python } from 'dlpack/python';
 * const np = python().import('numpy');
 * const x = fromDLPack(np.arange(3)); // NumPy's memory
 * console.log(x.dtype, x.toArray()); // int64 [0n, 1n, 2n]
 * ```
 */
export function python(given: PythonOptions = {}): Python {
  checkOptions(given, optionNames, '{ executable: "/path/to/python3" }');
  const names = Object.keys(optionNames) as (keyof PythonOptions)[];
  // Read once, because getters may return different values.
  const options = Object.fromEntries(names.map((name) => [name, given[name]])) as PythonOptions;
  if (running !== null) {
    checkSame(options, running.options, running.found);
    return running.python;
  }
  const { threads, signals = 'javascript', exitTimeout = 30_000 } = options;
  for (const name of ['executable', 'venv', 'library'] as const) {
    const path = options[name];
    if (path !== undefined && typeof path !== 'string') throw new ArgumentTypeError(name, 'a path', path);
  }
  if (threads !== undefined && !(Number.isInteger(threads) && threads >= 1 && threads <= 128)) {
    throw new ArgumentValueError('threads', 'a number from 1 to 128', threads);
  }
  if (signals !== 'javascript' && signals !== 'python') {
    throw new ArgumentValueError('signals', "'javascript' or 'python'", signals);
  }
  if (!Number.isInteger(exitTimeout) || exitTimeout < 0 || exitTimeout > 3_600_000) {
    throw new ArgumentValueError('exitTimeout', 'milliseconds from 0 to 3600000', exitTimeout);
  }
  const addon = native();
  const record = addon.findRunningPython();
  const earlier = record === undefined ? null : (JSON.parse(record) as Started); // of another thread
  if (earlier !== null) checkSame(options, earlier.options, earlier.found);
  const started = earlier ?? { options, found: findPython(options) };
  const { library, program, venv } = started.found;
  const isWorker = !isMainThread();
  const pythonSignals = signals === 'python';
  const problem = startPython(addon, {
    library,
    program,
    record: JSON.stringify(started),
    released: ReleasedList.buffer,
    isWorker,
    pythonSignals,
    threads: threads ?? 0, // native code chooses
    makeBytes,
    onCall,
    onSettle,
  });
  if (problem !== null) {
    const advice = 'use a CPython 3.9 or newer with a shared library: python({ executable: "/path/to/python3" })';
    throw new LoadError('Python', [`${library}: ${problem}`], [advice]);
  }
  if (isMainThread()) process.on('exit', (status) => binding().leave(status, exitTimeout));
  foreignLibrary.objects = { take: takeObject, takeArray, readArray };
  memorySources.push({
    settle() {
      settle();
      if (isDebug()) describeObjects(describeObject);
    },
    count: () => ({ objects: binding().countObjects(), objectBytes: binding().countObjectBytes() }),
  });
  const interpreter: Python = {
    import: importOrExplain,
    eval: (expression) => runInMain('eval', expression),
    exec: (statements) => void runInMain('exec', unindent(statements)),
    kwargs,
    float,
    callAsync,
    callTensorAsync,
    callToJSAsync,
    async: awaitPython,
    callable,
    tuple: (...values) => perform(Operation.tuple, null, null, values),
    tensor: makeTensor,
    callTensor: (callable, ...args) => callTensor(callable, args),
    toJS,
    getItem,
    setItem,
    release: (...objects) => objects.map(referenceOf).forEach(release),
  };
  loadHelpers();
  running = { ...started, python: interpreter };
  if (earlier === null && venv !== null) enterEnvironment(venv);
  return interpreter;
}

/** Throws for an option that differs both from the first call's options and from the Python that it found. */
function checkSame(options: PythonOptions, first: PythonOptions, found: FoundPython): void {
  const paths: { [name: string]: string | null } = {
    executable: found.program,
    venv: found.venv,
    library: found.library,
  };
  for (const name of Object.keys(optionNames) as (keyof PythonOptions)[]) {
    const wanted = options[name];
    if (wanted === undefined || wanted === first[name]) continue;
    const used = first[name] ?? paths[name] ?? null;
    if (name in paths && used !== null && resolve(String(wanted)) === resolve(String(used))) continue;
    const expected = `${used === null ? 'no value' : JSON.stringify(used)}, as in the first call`;
    throw new ArgumentValueError(
      name,
      expected,
      wanted,
      'a process has one Python: name it in the first call of python()',
    );
  }
}

/** JavaScript makes large arrays, because a failed allocation in native code could end the process. */
function makeBytes(length: number): Uint8Array | undefined {
  try {
    return new Uint8Array(length);
  } catch {
    return undefined;
  }
}

/** Removes the indentation of the first statement, which Python refuses, from all lines: a template literal has one. */
function unindent(code: string): string {
  const indent = /^(?:[^\S\n]*(?:#.*\r?)?\n)*([ \t]+)[^\s#]/.exec(code)?.[1];
  return indent === undefined ? code : `\n${code}`.replaceAll(`\n${indent}`, '\n').slice(1);
}

/** Runs user code, which may import libraries. The import at the end restores replaced signal handlers. */
function runInMain(name: 'eval' | 'exec', code: string): PyObject {
  try {
    return importModule('builtins')[name](code, importModule('__main__').__dict__);
  } finally {
    importModule('builtins');
  }
}

/**
 * Imports a module. If it does not exist, throws an error that says how to install it. No scope releases the module: a
 * program imports it once and uses it everywhere.
 */
function importOrExplain(name: string): PyObject {
  try {
    return outsideScopes(() => importModule(name));
  } catch (error) {
    if (!(error instanceof PythonError) || error.type !== 'ModuleNotFoundError') throw error;
    const { executable } = importModule('sys') as { executable: string };
    // Name the package to install, also for a submodule or for a dependency that is missing.
    const missing = /'([^'.]+)[^']*'/.exec(error.message)?.[1] ?? name;
    const advice = `check its name, or install it: ${executable} -m pip install ${packageOf(missing)}`;
    throw new LoadError(`the Python module ${name}`, [error.message], [advice], { cause: error });
  }
}

/** Newer Pythons do not accept a program name, so this makes them find the packages of the environment. */
function enterEnvironment(venv: string): void {
  const sys = importModule('sys') as { prefix: string; version_info: Iterable<number> };
  if (sys.prefix === venv) return;
  const [major, minor] = [...sys.version_info];
  const { addsitedir } = importModule('site') as { addsitedir(folder: string): void };
  addsitedir(
    process.platform === 'win32' ? `${venv}\\Lib\\site-packages` : `${venv}/lib/python${major}.${minor}/site-packages`,
  );
}
