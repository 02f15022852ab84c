/**
 * Errors in both directions.
 *
 * @module
 */

import { DLPackError, isDLPackError } from '../errors.js';
import { f64, OBJECT, SLOT, u32 } from './call-frame.js';
import { ffi } from './library.js';

declare module '../errors.js' {
  interface DLPackErrors {
    TVMFFIError: TVMFFIError;
  }
}

/** A native function failed. `kind` is its class there, such as `'ValueError'`. */
export class TVMFFIError extends DLPackError {
  readonly tag = 'TVMFFIError';
  readonly kind: string;
  /** Native frames, most recent call last. */
  readonly backtrace: string;

  constructor(kind: string, message: string, options: { backtrace?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.kind = kind;
    this.backtrace = options.backtrace ?? '';
  }
}

/** The JavaScript error that was raised last, so that it comes back as the cause of what it became. */
let raised = { pointer: 0, error: null as unknown };

/** The error that a native call raised on this thread, taken away from it. */
export function takeRaised(): TVMFFIError {
  ffi.moveRaised();
  const pointer = f64[OBJECT] as number;
  if (pointer === 0)
    return new TVMFFIError('InternalError', 'Expected an error from a call that failed but found none');
  return errorAt(pointer);
}

/** The error object of a request that just ended; its reference, in SLOT, is released. */
export function errorAt(pointer: number): TVMFFIError {
  const number = u32[SLOT] as number;
  f64[OBJECT] = pointer;
  const [kind, message, backtrace] = ffi.readError();
  const causePointer = f64[OBJECT] as number;
  const causeNumber = u32[SLOT] as number;
  const own = raised.pointer === pointer ? raised.error : undefined;
  if (own !== undefined) raised = { pointer: 0, error: null };
  let cause = own;
  if (own !== undefined) release(causeNumber);
  else if (causePointer !== 0) cause = errorAt(causePointer);
  release(number);
  const lines = backtrace.split('\n').filter((line) => line !== '');
  return new TVMFFIError(kind, message, { backtrace: lines.reverse().join('\n'), cause });
}

/** Releases the reference with a number; 0 is no reference. */
function release(number: number): void {
  u32[SLOT] = number;
  ffi.disown();
}

/** Causes of causes that native code is told of. Chains may be cycles. */
const MAX_CAUSES = 16;

/** Raises a JavaScript error on this thread, for the native code that called. */
export function raise(error: unknown): void {
  raiseWithCauses(error, MAX_CAUSES);
  raised = { pointer: f64[OBJECT] as number, error };
}

/** Leaves the address of the error in OBJECT. */
function raiseWithCauses(error: unknown, left: number): void {
  const { kind, message, backtrace } = describeError(error);
  const cause = left === 0 ? null : causeOf(error);
  let number = 0;
  if (cause !== null) {
    raiseWithCauses(cause, left - 1);
    ffi.moveRaised();
    number = u32[SLOT] as number;
  } else {
    f64[OBJECT] = 0;
  }
  ffi.setRaised(kind, message, backtrace);
  release(number);
}

/** Makes a native error, with a reference in SLOT; returns its address. */
export function makeError(error: unknown): number {
  raiseWithCauses(error, MAX_CAUSES);
  ffi.moveRaised();
  return f64[OBJECT] as number;
}

function causeOf(error: unknown): Error | null {
  try {
    const cause = error instanceof Error ? error.cause : null;
    return cause instanceof Error ? cause : null;
  } catch {
    return null;
  }
}

/** What native code is told of anything that was thrown. Hostile getters must not throw again. */
function describeError(error: unknown): { kind: string; message: string; backtrace: string } {
  try {
    if (error instanceof TVMFFIError) {
      const backtrace = error.backtrace.split('\n').reverse().join('\n');
      return { kind: error.kind, message: error.message, backtrace };
    }
    // The tag: native code knows the names that Python gives errors.
    if (isDLPackError(error)) return { kind: error.tag, message: error.message, backtrace: '' };
    if (error instanceof Error) return { kind: String(error.name), message: String(error.message), backtrace: '' };
    return { kind: 'RuntimeError', message: String(error), backtrace: '' };
  } catch {
    return {
      kind: 'RuntimeError',
      message: 'a JavaScript function threw something that cannot be read',
      backtrace: '',
    };
  }
}
