/** Native functions as JavaScript functions. */

import { disposeSymbol } from '../../storage/storage.js';
import { type ObjectHandle, standIns } from './objects.js';

/**
 * A native function. `using`, `dispose()` and the end of a `scope` that tracks it release the reference of JavaScript;
 * otherwise the garbage collector does.
 */
export interface FFIFunction {
  /** Calls the function. */
  (...args: unknown[]): unknown;
  /**
   * Releases the function now. Native code that has it, such as the table of global functions, keeps it, and calls that run
   * end. Using it afterwards throws a `DisposedError`. A second call does nothing.
   */
  dispose(): void;
  /** Releases the function, as `dispose()` does, for `using`. */
  [disposeSymbol](): void;
}

/** The native functions of the functions that `live` made. */
const viewed = new WeakMap<object, ObjectHandle>();

function dispose(this: object): void {
  (standIns.get(this) ?? viewed.get(this))?.dispose();
}

/** What native functions inherit. Properties of each function would take five times as long to make. */
const prototype: object = Object.create(Function.prototype, {
  dispose: { value: dispose },
  [disposeSymbol]: { value: dispose },
});

/** Makes `call` the JavaScript function of a native function. It keeps the handle alive. */
export function asFunction(handle: ObjectHandle, call: (...args: unknown[]) => unknown): FFIFunction {
  standIns.set(call, handle);
  return Object.setPrototypeOf(call, prototype);
}

/** The same for a second function, whose results are views. */
export function asLiveFunction(handle: ObjectHandle, call: (...args: unknown[]) => unknown): FFIFunction {
  viewed.set(call, handle);
  return Object.setPrototypeOf(call, prototype);
}
