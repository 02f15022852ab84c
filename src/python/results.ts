/**
 * Results of operations as JavaScript values.
 *
 * @module
 */

import { JAVASCRIPT_ERROR, PythonError } from './error.js';
import { FAILED, frame, Kind, RESULT_HANDLE, RESULT_KIND, RESULT_NUMBER } from './frame.js';

const { u32, f64 } = frame;

let wrap: (handle: number) => object;

/** Called by the module that makes objects, which is above this one. */
export function setWrap(make: (handle: number) => object): void {
  wrap = make;
}

/** An object for a handle that native code gave. */
export function wrapHandle(handle: number): object {
  return wrap(handle);
}

let causeOf: (exception: object) => { cause: unknown } | undefined;

/** Called by the module that knows what JavaScript functions threw. */
export function setCauseOf(find: typeof causeOf): void {
  causeOf = find;
}

/** The result of an operation; `text` is what did not fit into its cell. */
export function takeResult(text: unknown): unknown {
  if (u32[FAILED] === 1) throw toError(text);
  switch (u32[RESULT_KIND]) {
    case Kind.handle:
      return wrap(u32[RESULT_HANDLE] as number);
    case Kind.bool:
      return f64[RESULT_NUMBER] === 1;
    case Kind.int:
    case Kind.float:
      return f64[RESULT_NUMBER];
    case Kind.string:
    case Kind.bytes:
      return text;
    case Kind.bigint:
      return BigInt(text as string);
    default:
      return null;
  }
}

/** The result of an operation that makes an object, without a wrapper. */
export function takeHandle(text: unknown): number {
  if (u32[FAILED] === 1) throw toError(text);
  return u32[RESULT_HANDLE] as number;
}

export function toError(raised: unknown): PythonError {
  const { type, message, traceback = '' } = raised as Record<'type' | 'message' | 'traceback', string>;
  const exception = u32[RESULT_KIND] === Kind.handle ? wrap(u32[RESULT_HANDLE] as number) : null;
  return makeError(type, message, traceback, exception);
}

/** Where the exception stands for what a JavaScript function threw, that is its cause. */
export function makeError(type: string, message: string, traceback: string, exception: object | null): PythonError {
  const isOurs = type === JAVASCRIPT_ERROR && exception !== null;
  return new PythonError(type, message, traceback, exception, isOurs ? causeOf(exception) : undefined);
}

/** A value that native code gave as its kind and a number or text, outside of the frame. */
export function toValue(kind: number, value: unknown): unknown {
  switch (kind) {
    case Kind.handle:
      return wrap(value as number);
    case Kind.none:
      return null;
    case Kind.bool:
      return value === 1;
    case Kind.bigint:
      return BigInt(value as string);
    default:
      return value;
  }
}
