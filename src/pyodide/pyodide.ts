/** The public part of Pyodide that this module uses. Structural, so that every version of Pyodide and of its types fits. */

/** A Python object. */
export interface PyProxyLike {
  /** Releases the object. */
  destroy(): void;
}

/** A Python object as programs have it: the part of `PyProxy` of `pyodide/ffi` that all its versions have. */
export interface PyodideProxy extends PyProxyLike {
  /** The name of its class in Python. */
  readonly type: string;
  /** Makes another proxy of the same object. */
  copy(): PyodideProxy;
  /**
   * Converts the object to JavaScript values.
   *
   * @param options - How to convert, as the version of Pyodide describes it.
   * @returns A copy: numbers, texts, arrays and Maps.
   */
  // biome-ignore lint/suspicious/noExplicitAny: the options differ between versions
  toJs(options?: any): any;
}

/** A Python function. */
export type PyFunction<A extends unknown[], R> = PyProxyLike & ((...args: A) => R);

/** A Python dict. */
export interface PyDict extends PyProxyLike {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
}

/** A Pyodide, as `loadPyodide` returns it. */
export interface PyodideLike {
  /**
   * Runs Python code and returns the value of its last expression.
   *
   * @param code - The code.
   * @param options - How to run it, as the version of Pyodide describes it.
   */
  // biome-ignore lint/suspicious/noExplicitAny: the options differ between versions
  runPython(code: string, options?: any): any;
  /**
   * Converts a JavaScript value for Python.
   *
   * @param value - The value.
   */
  // biome-ignore lint/suspicious/noExplicitAny: Pyodide converts anything
  toPy(value: any): any;
  /** The version of Pyodide. */
  readonly version: string;
}

/** The functions of bridge.py that JavaScript calls. Addresses are numbers, and `undefined` is NULL. */
export interface Bridge {
  readonly take: PyFunction<[source: object], number>;
  readonly delete: PyFunction<[address: number, kind: number], void>;
  readonly malloc: PyFunction<[size: number], number | undefined>;
  readonly free: PyFunction<[address: number], void>;
  readonly add_function: PyFunction<[action: (self: number) => void], number>;
  readonly Tensor: PyFunction<[key: number], PyProxyLike>;
}
