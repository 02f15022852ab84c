/** Functions by name, and JavaScript functions under a name. */

import { checkOptions } from '../../base/options.js';
import { ArgumentTypeError, ArgumentValueError, isA } from '../../errors.js';
import { FFIObject, objectHandle } from '../codec/values.js';
import { ffi } from '../library.js';
import {
  callBuiltin,
  type Dict,
  functionAt,
  invoke,
  isContainer,
  type List,
  library,
  liveContainer,
  objectClasses,
} from '../native-values.js';
import { orRaised, takeRaised } from '../objects/errors.js';
import { type FFICallback, hostTypeOf, makeCallback } from '../objects/host-objects.js';
import { asLiveFunction, type FFIFunction } from '../objects/native-functions.js';
import { disown, type ObjectHandle, standIns } from '../objects/objects.js';
import type { Live } from '../objects/registered-classes.js';
import { CallMode } from '../wire-layout.js';

/** What happens when there is no such function. */
export interface GetGlobalOptions {
  /** true: returns null for a name that is not registered instead of throwing. The default is false. */
  allowMissing?: boolean;
}

/**
 * Returns the function that native code, or {@link registerGlobalFunc}, registered under a name.
 *
 * @param name - The name, such as `'ffi.Array'`.
 * @returns The function, the same object as long as it is alive.
 * @throws ArgumentTypeError for a name that is no string, ArgumentValueError for one that is not registered, and
 *   LoadError without libtvm_ffi.
 * @example
 * ```ts
 * import { getGlobalFunc } from 'dlpack/tvm-ffi';
 * const arrayOf = getGlobalFunc('ffi.Array');
 * console.log(arrayOf(1, 2)); // [1, 2]
 * ```
 */
export function getGlobalFunc(name: string): FFIFunction;
/**
 * Returns the function, or null for a name that is not registered.
 *
 * @param name - The name, such as `'ffi.Array'`.
 * @param options - `allowMissing: true`. A name that is not registered throws otherwise.
 * @returns The function, the same object as long as it is alive; null if there is none.
 */
export function getGlobalFunc(name: string, options: { allowMissing: true }): FFIFunction | null;
export function getGlobalFunc(name: string, options: GetGlobalOptions = {}): FFIFunction | null {
  if (typeof name !== 'string') throw new ArgumentTypeError('name', 'a string', name);
  checkOptions(options, { allowMissing: 'boolean' }, '{ allowMissing: true }');
  library();
  const found = orRaised(ffi.getGlobal(name));
  if (found !== null) return functionAt(...found);
  if (options.allowMissing === true) return null;
  throw new ArgumentValueError('name', 'a registered global function (globalFuncNames() lists them)', name);
}

/**
 * Tells whether two functions, modules or objects refer to the same native object.
 *
 * @param a - Any value.
 * @param b - Any value.
 * @returns False for values that have no native object.
 * @throws DisposedError for an object that was disposed.
 * @example
 * ```ts
 * import { getGlobalFunc, List, live, sameAs } from 'dlpack/tvm-ffi';
 * const list = new List([1, 2]);
 * console.log(sameAs(list, live(list)), sameAs(list, getGlobalFunc('ffi.List'))); // true false
 * ```
 */
export function sameAs(a: unknown, b: unknown): boolean {
  const first = addressOfObject(a);
  // An object of a registered class has one native object at a time, and no other object has the same.
  if (first === null) return typeof a === 'object' && a !== null && a === b && hostTypeOf(a) !== undefined;
  return first === addressOfObject(b);
}

function addressOfObject(value: unknown): number | null {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return null;
  const handle = standIns.get(value) ?? (isA(value, FFIObject) ? objectHandle(value) : undefined);
  return handle?.pointer ?? null;
}

/** What happens when there is one already. */
export interface RegisterOptions {
  /** true: replaces a function of the same name instead of throwing. The default is false. */
  override?: boolean;
}

/**
 * Registers a JavaScript function for native code under a name, for the whole process. It runs only on this thread; a
 * call from another thread fails there.
 *
 * @param name - The name.
 * @param fn - The function. Its arguments and its result are converted as in every call.
 * @param options - `override: true` replaces a function of the same name; a name that is taken throws when absent.
 * @returns The function as a native function.
 * @throws ArgumentTypeError for a name that is no string or a value that is no function.
 * @throws TVMFFIError for a name that is taken, and LoadError without libtvm_ffi.
 * @example
 * ```ts
 * import { getGlobalFunc, registerGlobalFunc } from 'dlpack/tvm-ffi';
 * registerGlobalFunc('page.add', (a: number, b: number) => a + b);
 * console.log(getGlobalFunc('page.add')(1, 2)); // 3
 * ```
 */
export function registerGlobalFunc(name: string, fn: FFICallback, options: RegisterOptions = {}): FFIFunction {
  if (typeof name !== 'string') throw new ArgumentTypeError('name', 'a string', name);
  checkOptions(options, { override: 'boolean' }, '{ override: true }');
  const isOverride = options.override === true;
  const made = toFunction(fn);
  if (!ffi.setGlobal(name, (standIns.get(made) as ObjectHandle).pointer, isOverride)) throw takeRaised();
  return made;
}

/**
 * Removes a global function. JavaScript and native code that have it keep it.
 *
 * @param name - The name.
 * @returns False if there was none.
 * @throws ArgumentTypeError for a name that is no string, and LoadError without libtvm_ffi.
 * @example
 * ```ts
 * import { removeGlobalFunc } from 'dlpack/tvm-ffi';
 * console.log(removeGlobalFunc('page.never')); // false
 * ```
 */
export function removeGlobalFunc(name: string): boolean {
  if (typeof name !== 'string') throw new ArgumentTypeError('name', 'a string', name);
  library();
  const found = orRaised(ffi.getGlobal(name));
  if (found === null) return false;
  disown(found[1]);
  callBuiltin('ffi.FunctionRemoveGlobal', [name], CallMode.locked);
  return true;
}

/**
 * Returns the names of all global functions of the process.
 *
 * @returns The names, sorted.
 * @throws LoadError without libtvm_ffi.
 * @example
 * ```ts
 * import { globalFuncNames } from 'dlpack/tvm-ffi';
 * console.log(globalFuncNames().includes('ffi.Array')); // true
 * ```
 */
export function globalFuncNames(): string[] {
  const at = callBuiltin('ffi.FunctionListGlobalNamesFunctor', [], CallMode.locked) as FFIFunction;
  const count = at(-1) as number;
  return Array.from({ length: count }, (_, i) => at(i) as string).sort();
}

/**
 * Makes a native function from a JavaScript function, for functions that are passed often: the native function is made
 * once instead of at each call. Native code may keep it. It runs only on this thread.
 *
 * @param fn - The function. A native function is returned as it is.
 * @returns The native function, which keeps the JavaScript function alive.
 * @throws ArgumentTypeError for anything but a function, and LoadError without libtvm_ffi.
 * @example
 * ```ts
 * import { toFunction } from 'dlpack/tvm-ffi';
 * using add = toFunction((a: number, b: number) => a + b); // passed to native code as often as needed
 * console.log(add(1, 2)); // 3
 * ```
 */
export function toFunction(fn: FFICallback): FFIFunction {
  library();
  if (typeof fn !== 'function') throw new ArgumentTypeError('fn', 'a function', fn);
  if (standIns.has(fn)) return fn as FFIFunction;
  return functionAt(...makeCallback(fn));
}

/**
 * Returns the same function or object, but its arrays and maps are live views (`ArrayView`, `MapView`) instead of copies.
 *
 * @param fn - A native function, whose results become views.
 * @returns A second JavaScript object for the same native one. Views share the memory of native code.
 * @throws ArgumentTypeError for anything but a native function or object.
 * @example
 * ```ts
 * import { type ArrayView, getGlobalFunc, live } from 'dlpack/tvm-ffi';
 * const array = live(getGlobalFunc('ffi.Array'))(1, 2) as ArrayView; // a view, no copy
 * console.log(array.at(-1), String(array)); // 2 (1, 2)
 * ```
 */
export function live(fn: FFICallback): FFIFunction;
/**
 * Returns a second JavaScript object for the same list or map, with views of arrays and maps as its elements.
 *
 * @param container - The list or the map.
 * @returns The view. It shares the memory of native code.
 */
export function live<T extends List | Dict>(container: T): T;
/**
 * Returns a second JavaScript object for the same native one, with views of arrays and maps as its fields and results.
 *
 * @param object - The object.
 * @returns The view. It shares the memory of native code.
 */
export function live<T extends FFIObject>(object: T): Live<T>;
export function live(value: unknown): unknown {
  if (isA(value, FFIObject)) return isContainer(value) ? liveContainer(value) : objectClasses.live(value);
  const handle = typeof value === 'function' ? standIns.get(value) : undefined;
  if (handle === undefined) throw new ArgumentTypeError('value', 'a native function or object', value);
  return asLiveFunction(handle, (...args) => invoke(handle.pointer, args, CallMode.forView));
}
