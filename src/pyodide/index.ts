/**
 * Python in a page, or in Node, by Pyodide: its arrays and tensors of JavaScript over one memory.
 *
 * @example
 * ```ts
 * const python = attach(await loadPyodide());
 * using x = fromDLPack(pyodide.globals.get('a')); // a NumPy array: the same memory
 * using y = python.empty([2, 3], 'float32'); // in Python's memory
 * pyodide.globals.set('y', python.toPython(y)); // np.asarray(y): the same memory
 * ```
 *
 * @module
 */

import type { PyodideProxy } from './pyodide.js';

declare module '../protocol/managed.js' {
  interface AttachedSources {
    /** A Python object, once its Pyodide is attached. */
    pyodide: PyodideProxy;
  }
}

export { attach, type PythonMemory, type ToPythonOptions } from './attach.js';
export type { PyodideLike, PyodideProxy, PyProxyLike } from './pyodide.js';
