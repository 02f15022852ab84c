/** Errors in both directions. */

import { ArgumentTypeError, DLPackError, isDLPackError } from '../../errors.js';
import { released } from '../../native/memory/pins.js';
import type { Referenced } from '../binding.js';
import { Type } from '../codec/any.js';
import { ffi } from '../library.js';
import { joinFrames, toBacktrace } from './backtrace.js';
import { heldValue, numbersFor } from './host-values.js';
import { adoptObject, disown, type ObjectHandle, recognise, remember } from './objects.js';

declare module '../../errors.js' {
  interface DLPackErrors {
    /** An error of a kernel or of TVM-FFI. */
    TVMFFIError: TVMFFIError;
  }
}

/**
 * A native function failed. `kind` is the native error class, such as `'ValueError'`.
 *
 * @example
 * ```ts
 * import { isDLPackError } from 'dlpack';
 * import { loadModule } from 'dlpack/tvm-ffi';
 * const kernels = loadModule('./kernels.so');
 * try {
 *   kernels.add_one(1); // it takes two tensors
 * } catch (error) {
 *   if (!isDLPackError(error, 'TVMFFIError')) throw error;
 *   console.log(error.kind); // TypeError
 * }
 * ```
 */
export class TVMFFIError extends DLPackError {
  readonly tag = 'TVMFFIError';
  /** The kind of the error in TVM-FFI, such as `ValueError`. */
  readonly kind: string;
  /** The frames that native code recorded, of all languages, most recent call last. `stack` has them, too. */
  readonly backtrace: string;

  constructor(kind: string, message: string, options: { backtrace?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.kind = kind;
    this.backtrace = options.backtrace ?? '';
  }
}

/** A class for errors of one kind. */
export type ErrorClass = new (message: string, options?: { cause?: unknown }) => Error;

const classes = new Map<string, ErrorClass>();
/** Kinds by the prototypes of their classes. */
const kinds = new Map<object, string>();

/**
 * Connects a kind of native errors with a JavaScript class: native code sees errors of the class, and of classes derived
 * from it, as this kind, and errors of this kind become objects of the class.
 *
 * @param kind - The name of the kind, such as `'QuotaError'`.
 * @param errorClass - A class derived from Error.
 * @throws ArgumentTypeError for anything else.
 * @example
 * ```ts
 * import { getGlobalFunc, registerError, registerGlobalFunc } from 'dlpack/tvm-ffi';
 * class QuotaError extends Error {}
 * registerError('QuotaError', QuotaError); // native code and Python see the kind QuotaError
 * ```
 */
export function registerError(kind: string, errorClass: ErrorClass): void {
  if (typeof kind !== 'string' || kind === '') throw new ArgumentTypeError('kind', 'the name of a kind', kind);
  if (typeof errorClass !== 'function' || !(errorClass.prototype instanceof Error)) {
    throw new ArgumentTypeError('errorClass', 'a class derived from Error', errorClass);
  }
  classes.set(kind, errorClass);
  kinds.set(errorClass.prototype, kind);
}

/** The value of an object's class, or of the nearest class that it is derived from; classes are known by prototype. */
export function findInherited<T>(values: ReadonlyMap<object, T>, object: object): T | undefined {
  if (values.size === 0) return undefined;
  for (let at: object | null = Object.getPrototypeOf(object); at !== null; at = Object.getPrototypeOf(at)) {
    const value = values.get(at);
    if (value !== undefined) return value;
  }
  return undefined;
}

/** The native errors of the JavaScript errors that were made for them. */
const natives = new WeakMap<object, ObjectHandle>();

/** Takes the error that a native call raised on this thread: the value that JavaScript threw, or an error for it. */
export function takeRaised(): unknown {
  const raised = ffi.moveRaised();
  if (raised !== null) return errorAt(...raised);
  return new TVMFFIError('InternalError', 'Expected an error from a call that failed but found none');
}

/** The result of a native function; throws the error that it raised if there is none. */
export function orRaised<T>(result: T | undefined): T {
  if (result === undefined) throw takeRaised();
  return result;
}

/** Reads the error object at an address and takes over its reference. */
export function errorAt(pointer: number, reference: number): unknown {
  const [kind, message, backtrace, causePointer, causeReference, thrown] = ffi.readError(pointer);
  const known: unknown = thrown === 0 ? recognise(pointer) : heldValue(thrown);
  if (thrown !== 0 || known !== undefined) {
    disown(causeReference);
    disown(reference);
    if (known instanceof Error) joinFrames(known, backtrace);
    if (thrown === 0 && known instanceof TVMFFIError) (known as { backtrace: string }).backtrace = reversed(backtrace);
    return known;
  }
  let made: Error;
  try {
    const cause = causePointer === 0 ? undefined : errorAt(causePointer, causeReference);
    made = makeFor(kind, message, reversed(backtrace), cause);
    joinFrames(made, backtrace);
  } catch (error) {
    disown(reference); // the constructor of a registered class threw
    throw error;
  }
  natives.set(made, adoptObject(pointer, Type.error, reference));
  return remember(pointer, made);
}

function makeFor(kind: string, message: string, backtrace: string, cause: unknown): Error {
  const registered = classes.get(kind);
  if (registered === undefined) return new TVMFFIError(kind, message, { backtrace, cause });
  return new registered(message, cause === undefined ? undefined : { cause });
}

function reversed(backtrace: string): string {
  const lines = backtrace.split('\n').filter((line) => line !== '');
  return lines.reverse().join('\n');
}

/** The most causes that are passed to native code. Chains of causes may be cyclic. */
const MAX_CAUSES = 16;

/** Raises a thrown value on this thread, for the native caller. */
export function raise(error: unknown): void {
  const native = typeof error === 'object' && error !== null ? natives.get(error) : undefined;
  if (native === undefined) raiseWithCauses(error, MAX_CAUSES);
  else raiseAgain(native, error as Error);
}

/** Raises an error that came from native code, with the frames of the functions that it has passed since. */
function raiseAgain(native: ObjectHandle, error: Error): void {
  ffi.raiseAgain(native.pointer, backtraceOf(error));
}

function raiseWithCauses(error: unknown, left: number): void {
  const { kind, message, backtrace } = describeError(error);
  const [cause, reference] = left === 0 ? NONE : nativeCause(error, left - 1);
  const { number, pin } = numbersFor(error);
  if (!ffi.setRaised(kind, message, backtrace, cause, number, pin)) released(pin);
  disown(reference);
}

const NONE: Referenced = [0, 0];

/** The native error of an error's cause. */
function nativeCause(error: unknown, left: number): Referenced {
  const cause = causeOf(error);
  if (cause === null) return NONE;
  const native = natives.get(cause);
  if (native !== undefined) return [native.pointer, 0];
  raiseWithCauses(cause, left);
  return ffi.moveRaised() ?? NONE;
}

/** Makes a native error, with a reference. */
export function makeError(error: unknown): Referenced {
  raise(error);
  return ffi.moveRaised() ?? NONE;
}

function causeOf(error: unknown): Error | null {
  try {
    const cause = error instanceof Error ? error.cause : null;
    return cause instanceof Error ? cause : null;
  } catch {
    return null;
  }
}

function backtraceOf(error: Error): string {
  try {
    return typeof error.stack === 'string' ? toBacktrace(error.stack) : '';
  } catch {
    return '';
  }
}

/** Describes any thrown value for native code. A getter that throws must not throw from here. */
function describeError(error: unknown): { kind: string; message: string; backtrace: string } {
  try {
    if (!(error instanceof Error)) return { kind: 'RuntimeError', message: String(error), backtrace: '' };
    const registered = findInherited(kinds, error);
    const native = registered === undefined && error instanceof TVMFFIError ? error : null;
    return {
      // The tag, because native code knows Python's names of errors.
      kind: registered ?? native?.kind ?? (isDLPackError(error) ? error.tag : String(error.name)),
      message: String(error.message),
      backtrace: native === null || native.backtrace === '' ? backtraceOf(error) : reversed(native.backtrace),
    };
  } catch {
    const message = 'a JavaScript function threw something that cannot be read';
    return { kind: 'RuntimeError', message, backtrace: '' };
  }
}
