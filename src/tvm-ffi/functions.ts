/**
 * Functions by name, and JavaScript functions under a name.
 *
 * @module
 */

import { ArgumentTypeError, ArgumentValueError } from '../errors.js';
import { wire } from '../native/wire.js';
import { WireHeader } from '../native/wire-layout.js';
import { checkOptions } from '../options.js';
import { Type } from './any.js';
import { type JavaScriptFunction, makeCallback } from './callbacks.js';
import { type FFIFunction, invokeLocked, wrapFunction } from './calls.js';
import { takeRaised } from './errors.js';
import { builtin, findGlobal } from './globals.js';
import { ffi, library } from './library.js';
import { adoptObject, type ObjectHandle, standIns } from './objects.js';
import { enter, leave } from './slot.js';
import { ObjectRequest } from './wire-layout.js';

export interface GetGlobalOptions {
  /** Return null for a name that is not registered instead of throwing. */
  allowMissing?: boolean;
}

/** The function that native code, or {@link registerGlobalFunc}, registered under a name. */
export function getGlobalFunc(name: string): FFIFunction;
export function getGlobalFunc(name: string, options: { allowMissing: true }): FFIFunction | null;
export function getGlobalFunc(name: string, options: GetGlobalOptions = {}): FFIFunction | null {
  if (typeof name !== 'string') throw new ArgumentTypeError('name', 'a string', name);
  checkOptions(options, { allowMissing: true }, '{ allowMissing: true }');
  const handle = findGlobal(name);
  if (handle !== null) return wrapFunction(handle);
  if (options.allowMissing === true) return null;
  throw new ArgumentValueError('name', 'a registered global function (globalFuncNames() lists them)', name);
}

export interface RegisterOptions {
  /** Replace a function of the same name. */
  override?: boolean;
}

/**
 * Registers a JavaScript function for native code under a name, for the whole process. It runs on this thread only: a call
 * from another one fails there. Returns it as a native function.
 */
export function registerGlobalFunc(name: string, fn: JavaScriptFunction, options: RegisterOptions = {}): FFIFunction {
  if (typeof name !== 'string') throw new ArgumentTypeError('name', 'a string', name);
  checkOptions(options, { override: true }, '{ override: true }');
  const isOverride = options.override === true;
  library();
  const handle = handleOfFunction(fn);
  const slot = enter(ObjectRequest.WORDS);
  wire.f64[slot + ObjectRequest.OBJECT] = handle.pointer;
  wire.u32[WireHeader.SLOT] = slot;
  ffi.setGlobal(name, isOverride);
  leave(slot);
  if (wire.i32[slot * 2 + ObjectRequest.STATUS] !== 0) throw takeRaised();
  return wrapFunction(handle);
}

/** Removes a global function. False when there was none. */
export function removeGlobalFunc(name: string): boolean {
  if (typeof name !== 'string') throw new ArgumentTypeError('name', 'a string', name);
  if (findGlobal(name) === null) return false;
  invokeLocked(builtin('ffi.FunctionRemoveGlobal'), [name]);
  return true;
}

/** Names of all global functions, sorted. */
export function globalFuncNames(): string[] {
  const at = invokeLocked(builtin('ffi.FunctionListGlobalNamesFunctor'), []) as FFIFunction;
  const count = at(-1) as number;
  return Array.from({ length: count }, (_, i) => at(i) as string).sort();
}

/**
 * A JavaScript function as a native one, for functions that are passed often: made once, not at each call. Native code may
 * keep it; it runs on this thread only.
 */
export function toFunction(fn: JavaScriptFunction): FFIFunction {
  library();
  return wrapFunction(handleOfFunction(fn));
}

function handleOfFunction(fn: JavaScriptFunction): ObjectHandle {
  if (typeof fn !== 'function') throw new ArgumentTypeError('fn', 'a function', fn);
  const known = standIns.get(fn);
  if (known !== undefined) return known;
  const { pointer, reference } = makeCallback(fn);
  return adoptObject(pointer, Type.function, reference);
}
