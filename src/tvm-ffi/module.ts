/**
 * Kernel libraries.
 *
 * @module
 */

import { resolve } from 'node:path';
import { ArgumentTypeError, ArgumentValueError } from '../errors.js';
import { Type } from './any.js';
import { type FFIFunction, invoke, invokeLocked } from './calls.js';
import { builtin } from './globals.js';
import { library } from './library.js';
import { standIns } from './objects.js';
import { FFIObject, handleOf } from './values.js';

/** A loaded library: its functions by name, each looked up on first use. */
export type KernelModule = { readonly [name: string]: FFIFunction };

/**
 * Loads a library that was compiled for TVM-FFI. It stays loaded until the process ends, because it may contain the
 * deleters of objects that its functions returned.
 */
export function loadModule<M extends object = KernelModule>(path: string): M {
  if (typeof path !== 'string') throw new ArgumentTypeError('path', 'a string', path);
  library();
  const module = invokeLocked(builtin('ffi.ModuleLoadFromFile'), [resolve(path)]) as FFIObject;
  invoke(builtin('ffi.ModuleGlobalsAdd'), [module]);
  return wrapModule(module, path) as M;
}

/** The functions of a module that native code returned as a value. */
export function asModule<M extends object = KernelModule>(value: unknown): M {
  if (!(value instanceof FFIObject) || handleOf(value).type !== Type.module) {
    throw new ArgumentTypeError('value', 'a module', value);
  }
  return wrapModule(value, value.typeKey) as M;
}

/** Functions as properties. `then` and `toJSON` are not functions, so that a module can be awaited and printed. */
function wrapModule(module: FFIObject, path: string): KernelModule {
  const functions = new Map<string, FFIFunction>();
  const find = (name: string): FFIFunction | undefined => {
    let fn = functions.get(name);
    if (fn === undefined) {
      fn = invoke(builtin('ffi.ModuleGetFunction'), [module, name, true]) as FFIFunction | undefined;
      if (fn !== undefined) functions.set(name, fn);
    }
    return fn;
  };
  const proxy: KernelModule = new Proxy(Object.create(null), {
    get: (_, name) => {
      if (typeof name === 'symbol' || name === 'then' || name === 'toJSON') return undefined;
      const fn = find(name);
      if (fn !== undefined) return fn;
      throw new ArgumentValueError('name', `a function of the module ${path}`, name);
    },
    has: (_, name) => typeof name === 'string' && find(name) !== undefined,
    set: () => false,
    defineProperty: () => false,
    deleteProperty: () => false,
  });
  standIns.set(proxy, handleOf(module));
  return proxy;
}

export interface FunctionDescription {
  /** JSON with the type of the function; null if the module has none. */
  readonly metadata: string | null;
  /** The documentation of the function; null if the module has none. */
  readonly doc: string | null;
}

/** The metadata and documentation of a function in a module. */
export function describeFunction(module: object, name: string): FunctionDescription {
  if (!standIns.has(module)) throw new ArgumentTypeError('module', 'a module of loadModule', module);
  const read = (builtinName: string) => (invoke(builtin(builtinName), [module, name, true]) ?? null) as string | null;
  return { metadata: read('ffi.ModuleGetFunctionMetadata'), doc: read('ffi.ModuleGetFunctionDoc') };
}
