/** Kernel libraries. */

import { ArgumentTypeError, ArgumentValueError, isA } from '../errors.js';
import { node } from '../native/load/node-modules.js';
import { Type } from './codec/any.js';
import { FFIObject, objectHandle, TVM_FFI_VALUE } from './codec/values.js';
import { callBuiltin } from './native-values.js';
import type { FFIFunction } from './objects/native-functions.js';
import { findAgain, standIns } from './objects/objects.js';
import { isInstance } from './objects/registered-classes.js';
import { CallMode } from './wire-layout.js';

const { resolve } = node.path;

/** A loaded library: its functions by name, each looked up on first use. */
export type KernelModule = { readonly [name: string]: FFIFunction };

/**
 * Loads a library that was compiled for TVM-FFI. It stays loaded until the process ends, because it may contain the
 * deleters of objects that its functions returned.
 *
 * @param path - The path of the library, relative to the working directory.
 * @returns The functions by name.
 * @throws ArgumentTypeError for a path that is no string, TVMFFIError for a file that cannot be loaded, and LoadError
 *   without libtvm_ffi.
 * @throws ArgumentValueError when a name is read that the library does not have.
 * @example
 * ```ts
 * import { Tensor } from 'dlpack';
 * import { loadModule } from 'dlpack/tvm-ffi';
 * const kernels = loadModule('./kernels.so');
 * const y = Tensor.empty([2], 'float32');
 * kernels.add_one(Tensor.from([1, 2], { dtype: 'float32' }), y);
 * console.log(y.toArray()); // [2, 3]
 * ```
 */
export function loadModule<M extends object = KernelModule>(path: string): M {
  if (typeof path !== 'string') throw new ArgumentTypeError('path', 'a string', path);
  const module = callBuiltin('ffi.ModuleLoadFromFile', [resolve(path)], CallMode.locked) as FFIObject;
  callBuiltin('ffi.ModuleGlobalsAdd', [module]);
  return wrapModule(module, path) as M;
}

/**
 * Returns the functions of a module that native code returned as a value.
 *
 * @param value - A module, as native code or Python's tvm_ffi returned it.
 * @returns The functions by name, as `loadModule` does.
 * @throws ArgumentTypeError for anything but a module, and ArgumentValueError when a name is read that it does not
 *   have.
 * @example
 * ```ts
 * import { asModule, getGlobalFunc } from 'dlpack/tvm-ffi';
 * const kernels = asModule(getGlobalFunc('ffi.ModuleLoadFromFile')('./kernels.so'));
 * console.log('add_one' in kernels); // true
 * ```
 */
export function asModule<M extends object = KernelModule>(value: unknown): M {
  // Another host's object, such as Python's tvm_ffi.Module, becomes one of ours on its way through native code.
  const isForeign = isA(value, Function) && typeof (value as never)[TVM_FFI_VALUE] === 'function';
  const module = isForeign ? asObject(value) : value;
  if (!isA(module, FFIObject) || objectHandle(module).type !== Type.module) {
    throw new ArgumentTypeError('value', 'a module', value);
  }
  return wrapModule(module, module.typeKey) as M;
}

/**
 * Returns the functions that are linked into this process under a prefix, and that registered themselves with the
 * library.
 *
 * @param prefix - The first letters of their names; empty when absent.
 * @returns The functions by name, as `loadModule` does.
 * @throws ArgumentTypeError for a prefix that is no string, and LoadError without libtvm_ffi.
 * @throws ArgumentValueError when a name is read that no function has.
 * @example
 * ```ts
 * import { systemLibrary } from 'dlpack/tvm-ffi';
 * console.log('add_one' in systemLibrary('none_of_this_name_')); // false
 * ```
 */
export function systemLibrary<M extends object = KernelModule>(prefix = ''): M {
  if (typeof prefix !== 'string') throw new ArgumentTypeError('prefix', 'a string', prefix);
  return wrapModule(callBuiltin('ffi.SystemLib', [prefix], CallMode.locked) as FFIObject, 'of the system') as M;
}

/**
 * Tells whether a module, or one that it imports, has a function.
 *
 * @param module - From `loadModule`, `asModule` or `systemLibrary`.
 * @param name - The name of the function.
 * @returns True if it has one.
 * @throws ArgumentTypeError for anything but a module and a string.
 * @example
 * ```ts
 * import { implementsFunction, loadModule } from 'dlpack/tvm-ffi';
 * console.log(implementsFunction(loadModule('./kernels.so'), 'add_one')); // true
 * ```
 */
export function implementsFunction(module: object, name: string): boolean {
  if (typeof name !== 'string') throw new ArgumentTypeError('name', 'a string', name);
  return callBuiltin('ffi.ModuleImplementsFunction', [checkModule(module), name, true]) as boolean;
}

/**
 * Adds `imported` to the modules that `module` searches.
 *
 * @param module - The module that searches.
 * @param imported - The module that is searched.
 * @throws ArgumentTypeError for anything but modules.
 * @example
 * ```ts
 * import { compileLibrary, implementsFunction, importModule, loadModule } from 'dlpack/tvm-ffi';
 * const path = await compileLibrary({ cpp: 'int64_t triple(int64_t n) { return 3 * n; }', functions: ['triple'] });
 * const kernels = loadModule('./kernels.so');
 * importModule(kernels, loadModule(path));
 * console.log(implementsFunction(kernels, 'triple')); // true
 * ```
 */
export function importModule(module: object, imported: object): void {
  callBuiltin('ffi.ModuleImportModule', [checkModule(module), checkModule(imported)]);
}

/** Describes a module: kind, imports, source. */
export interface ModuleDescription {
  /** What loaded it, such as `'library'`. */
  readonly kind: string;
  /** The modules that it imports. */
  readonly imports: readonly KernelModule[];
  /** The source that it was made of, empty for a library. */
  readonly source: string;
}

/**
 * Describes a module: its kind, imports and source.
 *
 * @param module - From `loadModule`, `asModule` or `systemLibrary`.
 * @returns The description. Each call makes a new one.
 * @throws ArgumentTypeError for anything but a module, and ArgumentValueError when a name is read that an imported
 *   module does not have.
 * @example
 * ```ts
 * import { describeModule, loadModule } from 'dlpack/tvm-ffi';
 * console.log(describeModule(loadModule('./kernels.so')).kind); // library
 * ```
 */
export function describeModule(module: object): ModuleDescription {
  const checked = checkModule(module);
  const { imports_: imports } = asObject(checked) as { imports_?: readonly FFIObject[] };
  return {
    kind: callBuiltin('ffi.ModuleGetKind', [checked]) as string,
    imports: (imports ?? []).map((imported) => wrapModule(imported, 'that is imported')),
    source: callBuiltin('ffi.ModuleInspectSource', [checked, '']) as string,
  };
}

/** The object of a module, which has the fields of its type. */
function asObject(module: object): object {
  return (callBuiltin('ffi.Array', [module]) as [FFIObject])[0];
}

function checkModule(module: object): object {
  if (!isInstance(module, 'ffi.Module')) throw new ArgumentTypeError('module', 'a module of loadModule', module);
  return module;
}

/** Functions as properties. `then` and `toJSON` are not functions, so that a module can be awaited and printed. */
function wrapModule(module: FFIObject, path: string): KernelModule {
  const functions = new Map<string, FFIFunction>();
  const find = (name: string): FFIFunction | undefined => {
    const before = functions.get(name);
    const found = findAgain(before, () => callBuiltin('ffi.ModuleGetFunction', [module, name, true]) as never);
    if (found !== before) functions.set(name, found);
    return found;
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
  standIns.set(proxy, objectHandle(module));
  return proxy;
}

/** What a module says about a function. */
export interface FunctionDescription {
  /** JSON with the type of the function; null if the module has none. */
  readonly metadata: string | null;
  /** The documentation of the function; null if the module has none. */
  readonly doc: string | null;
}

/**
 * Describes a function in a module: its metadata and documentation.
 *
 * @param module - From `loadModule`, `asModule` or `systemLibrary`.
 * @param name - The name of the function.
 * @returns What the module says. Both fields are null for a name that it does not have.
 * @throws ArgumentTypeError for anything but a module.
 * @example
 * ```ts
 * import { describeFunction, loadModule } from 'dlpack/tvm-ffi';
 * const { doc } = describeFunction(loadModule('./kernels.so'), 'add_one');
 * ```
 */
export function describeFunction(module: object, name: string): FunctionDescription {
  if (!standIns.has(module)) throw new ArgumentTypeError('module', 'a module of loadModule', module);
  const read = (builtinName: string) => (callBuiltin(builtinName, [module, name, true]) ?? null) as string | null;
  return { metadata: read('ffi.ModuleGetFunctionMetadata'), doc: read('ffi.ModuleGetFunctionDoc') };
}
