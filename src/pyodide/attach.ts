/** The connection to one Pyodide. */

import { checkOptions } from '../base/options.js';
import type { DType } from '../dtype.js';
import { ArgumentTypeError, isUsable } from '../errors.js';
import type { DLPackProducer } from '../protocol/managed.js';
import type { Tensor } from '../tensor.js';
import type { WasmHeap } from '../wasm/index.js';
import source from './bridge.py';
import { Exports } from './exports.js';
import { makeProducers } from './imports.js';
import { findInternals } from './internals.js';
import type { Bridge, PyDict, PyodideLike, PyProxyLike } from './pyodide.js';

/** Whether the elements are copied. */
export interface ToPythonOptions {
  /** true: always copy; false: never copy, throw instead; null (default): copy a tensor outside Python's memory. */
  copy?: boolean | null;
}

/** The memory of one Pyodide, shared with Python. */
export interface PythonMemory {
  /**
   * Allocates a tensor in uninitialised memory of Python, which `toPython` shares. The last owner frees it.
   *
   * @param shape - The lengths of the axes.
   * @param dtype - The element type.
   * @returns A tensor whose elements have any value.
   * @throws OutOfMemoryError if there is not enough memory, and UnsupportedDTypeError for an unknown dtype.
   */
  empty<D extends DType>(shape: readonly number[], dtype: D): Tensor<D>;
  /**
   * Makes a Python object with `__dlpack__`, `__dlpack_device__` and `__buffer__`, for `numpy.from_dlpack`,
   * `numpy.asarray` and `memoryview`. It shares a tensor in Python's memory, and copies any other tensor into it once.
   *
   * @param tensor - The tensor. Python keeps it.
   * @param options - Whether to copy; when absent, only a tensor outside Python's memory.
   * @throws ArgumentTypeError for anything but a tensor, and BufferError if `copy: false` forbids a copy that is
   *   needed.
   */
  // biome-ignore lint/suspicious/noExplicitAny: the class of Python objects belongs to Pyodide, in a version of its own
  toPython(tensor: Tensor | DLPackProducer, options?: ToPythonOptions): any;
}

const attached = new WeakMap<object, PythonMemory>();

/**
 * Connects a Pyodide. From then on `fromDLPack(proxy)`, and every other consumer of the protocol, takes its Python objects
 * that have `__dlpack__` or a buffer, without a copy. The same Pyodide returns the same object.
 *
 * @param pyodide - What `await loadPyodide()` returned.
 * @returns The memory of this Pyodide, the same object each time.
 * @throws ArgumentTypeError for anything but a Pyodide.
 * @example
 * ```ts fragment: needs Pyodide
 * import { fromDLPack } from 'dlpack';
 * import { attach } from 'dlpack/pyodide';
 * const python = attach(await loadPyodide());
 * using x = fromDLPack(pyodide.globals.get('a')); // the memory of a NumPy array
 * ```
 */
export function attach(pyodide: PyodideLike): PythonMemory {
  if (!isUsable(pyodide) || typeof pyodide.runPython !== 'function' || typeof pyodide.toPy !== 'function') {
    throw new ArgumentTypeError('pyodide', 'a Pyodide: await loadPyodide()', pyodide);
  }
  let memory = attached.get(pyodide);
  if (memory === undefined) {
    memory = connect(pyodide);
    attached.set(pyodide, memory);
  }
  return memory;
}

function connect(pyodide: PyodideLike): PythonMemory {
  const found: { heap: WasmHeap | null; dtypes: readonly string[] } = { heap: null, dtypes: [] };
  const exports = new Exports(
    () => found.heap as WasmHeap,
    () => found.dtypes,
  );
  const namespace = pyodide.toPy({}) as PyDict;
  for (const [name, action] of Object.entries(exports.functions())) namespace.set(name, action);
  pyodide.runPython(source, { globals: namespace });
  const names = ['take', 'delete', 'malloc', 'free', 'add_function', 'Tensor'];
  const bridge = Object.fromEntries(names.map((name) => [name, namespace.get(name)])) as unknown as Bridge;
  const dtypes = namespace.get('NAMES') as PyProxyLike & { toJs(): string[] };
  found.dtypes = dtypes.toJs();
  const internals = findInternals(pyodide, bridge);
  found.heap = internals.heap;
  makeProducers([bridge.take, namespace], bridge, internals, found.dtypes);
  dtypes.destroy();
  return {
    empty: (shape, dtype) => internals.heap.empty(shape, dtype),
    toPython: (tensor, options = {}) => {
      checkOptions(options, { copy: 'boolean or null' }, '{ copy: false }');
      return bridge.Tensor(exports.add(tensor, options.copy ?? null));
    },
  };
}
