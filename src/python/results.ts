/**
 * Results of operations as JavaScript values.
 *
 * @module
 */

import { PythonError } from './error.js';
import { FAILED, frame, Kind, RESULT_HANDLE, RESULT_KIND, RESULT_NUMBER } from './frame.js';

const { u32, f64 } = frame;

let wrap: (handle: number) => object;

/** Called by the module that makes objects, which is above this one. */
export function setWrap(make: (handle: number) => object): void {
  wrap = make;
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
  return new PythonError(type, message, traceback, exception);
}
