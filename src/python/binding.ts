/** The native functions for Python, as native/python/calls/operations.cc exports them. */

import type { Binding } from '../native/binding.js';

export interface PythonBinding {
  /** Performs the operation of a PerformRequest. `spilled` holds values that do not fit into its cells, in order. */
  perform(...spilled: (string | Uint8Array)[]): unknown;
  /** Makes the object of a ConversionRequest. Returns the exception, if there is one. */
  convert(): unknown;
  /** The tensor of the object of a ConsumeRequest. */
  consume(): unknown;
  /** Writes the tensor of an object into a TensorResult; false if its CUDA Array Interface has an unusual property. */
  takeArray(object: number): boolean;
  /** The handle of a storage without memory that keeps a Python object; 0 when out of memory. */
  keepObject(handle: number): number;
  /** Drops the object of a handle the next time a thread of ours holds the GIL. */
  releaseLater(handle: number): void;
  /** Drops the released objects. */
  settle(): void;
  /** As `settle`, and drops all objects that other threads would drop later. */
  settleAll(): void;
  /** As `settle`, but on another thread while asynchronous calls may hold the GIL. */
  settleLater(): void;
  /** JavaScript no longer waits for the call with this number. A call that has not begun does not begin. */
  abandon(number: number): void;
  /**
   * The handle of a settler, a Python callable `settle(failed, value)`, for the promise with this number; 0 when out of
   * memory. Only its first call has an effect.
   */
  makeSettler(number: number): number;
  /**
   * The next tensor of the result that is being settled, as a TensorResult in the slot; or the handle of an object in
   * device memory. 0 for none.
   */
  nextTensor(): number;
  /** The object has outlived its tick, so its bytes count for the garbage collector. Returns whether its proxy is watched. */
  outlive(handle: number, proxy: object | null): boolean;
  /** True when the garbage collector has found that a watched proxy is unused. */
  isUnused(handle: number): boolean;
  /** The bytes behind an object. */
  objectBytes(handle: number): number;
  /** Writes the layout of an array or tensor to the TensorResult in the slot; false for another object. */
  describeObject(handle: number): boolean;
  /** How many Python objects this thread holds. */
  countObjects(): number;
  /** The bytes behind them. */
  countObjectBytes(): number;
  /** Records the signal handlers, before operations. */
  rememberSignals(): void;
  /** Restores the signal handlers of the JavaScript runtime that libraries replaced. */
  keepSignals(): void;
  /** Lets executors finish and runs Python's exit functions. Ends the process if that takes longer. */
  leave(status: number, milliseconds: number): void;
  /** The number of the value that a JavaScript function threw, if this exception carries one; otherwise 0. */
  thrownBy(exception: number): number;
  /** Gives the waiting thread an object, whose handle it takes over. With `failed` the object is an exception. */
  answer(request: number, handle: number, failed: boolean): void;
  /** Lets the thread wait for a promise. Returns false when too many threads do. */
  postpone(request: number): boolean;
}

let loaded: PythonBinding | null = null;

/** Starts the interpreter, or attaches to the one in this process. Returns the reason if that fails, else null. */
export function startPython(binding: Binding, options: Parameters<Binding['startPython']>[0]): string | null {
  const started = binding.startPython(options);
  if (typeof started === 'string') return started;
  loaded = started as PythonBinding;
  return null;
}

/** Always loaded here, because objects and operations exist only once an interpreter runs. */
export function binding(): PythonBinding {
  return loaded as PythonBinding;
}
