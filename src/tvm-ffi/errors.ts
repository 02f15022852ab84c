/**
 * Errors in both directions.
 *
 * @module
 */

import { DLPackError, isDLPackError } from '../errors.js';
import { wire } from '../native/wire.js';
import { WireHeader } from '../native/wire-layout.js';
import { ffi } from './library.js';
import { disown, type Referenced } from './objects.js';
import { enter, leave } from './slot.js';
import { ErrorRequest } from './wire-layout.js';

const { f64, u32 } = wire;

declare module '../errors.js' {
  interface DLPackErrors {
    TVMFFIError: TVMFFIError;
  }
}

/** A native function failed. `kind` is the native error class, such as `'ValueError'`. */
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

/** The JavaScript error that was raised last. It becomes the cause of the error that native code returns for it. */
let raised = { pointer: 0, error: null as unknown };

/** Takes the raised error from this thread; the pointer is 0 if there is none. */
function moveRaised(): Referenced {
  const slot = enter(ErrorRequest.WORDS);
  u32[WireHeader.SLOT] = slot;
  ffi.moveRaised();
  leave(slot);
  return {
    pointer: f64[slot + ErrorRequest.OBJECT] as number,
    reference: u32[slot * 2 + ErrorRequest.REFERENCE] as number,
  };
}

/** Takes the error that a native call raised on this thread. */
export function takeRaised(): TVMFFIError {
  const { pointer, reference } = moveRaised();
  if (pointer === 0)
    return new TVMFFIError('InternalError', 'Expected an error from a call that failed but found none');
  return errorAt(pointer, reference);
}

/** Reads the error object at an address and releases its reference. */
export function errorAt(pointer: number, reference: number): TVMFFIError {
  const slot = enter(ErrorRequest.WORDS);
  f64[slot + ErrorRequest.OBJECT] = pointer;
  u32[WireHeader.SLOT] = slot;
  const [kind, message, backtrace] = ffi.readError();
  leave(slot);
  const causePointer = f64[slot + ErrorRequest.CAUSE] as number;
  const causeReference = u32[slot * 2 + ErrorRequest.CAUSE_REFERENCE] as number;
  const own = raised.pointer === pointer ? raised.error : undefined;
  if (own !== undefined) raised = { pointer: 0, error: null };
  let cause = own;
  if (own !== undefined) disown(causeReference);
  else if (causePointer !== 0) cause = errorAt(causePointer, causeReference);
  disown(reference);
  const lines = backtrace.split('\n').filter((line) => line !== '');
  return new TVMFFIError(kind, message, { backtrace: lines.reverse().join('\n'), cause });
}

/** The most causes that are passed to native code. Chains of causes may be cyclic. */
const MAX_CAUSES = 16;

/** Raises a JavaScript error on this thread, for the native caller. */
export function raise(error: unknown): void {
  raised = { pointer: raiseWithCauses(error, MAX_CAUSES), error };
}

/** Returns the address of the error. */
function raiseWithCauses(error: unknown, left: number): number {
  const { kind, message, backtrace } = describeError(error);
  const next = left === 0 ? null : causeOf(error);
  let cause: Referenced = { pointer: 0, reference: 0 };
  if (next !== null) {
    raiseWithCauses(next, left - 1);
    cause = moveRaised();
  }
  const slot = enter(ErrorRequest.WORDS);
  f64[slot + ErrorRequest.CAUSE] = cause.pointer;
  u32[WireHeader.SLOT] = slot;
  ffi.setRaised(kind, message, backtrace);
  leave(slot);
  const pointer = f64[slot + ErrorRequest.OBJECT] as number;
  disown(cause.reference);
  return pointer;
}

/** Makes a native error, with a reference. */
export function makeError(error: unknown): Referenced {
  raiseWithCauses(error, MAX_CAUSES);
  return moveRaised();
}

function causeOf(error: unknown): Error | null {
  try {
    const cause = error instanceof Error ? error.cause : null;
    return cause instanceof Error ? cause : null;
  } catch {
    return null;
  }
}

/** Describes any thrown value for native code. A getter that throws must not throw from here. */
function describeError(error: unknown): { kind: string; message: string; backtrace: string } {
  try {
    if (error instanceof TVMFFIError) {
      const backtrace = error.backtrace.split('\n').reverse().join('\n');
      return { kind: error.kind, message: error.message, backtrace };
    }
    // The tag, because native code knows Python's names of errors.
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
