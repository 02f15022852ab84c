/** Errors of workers. */

import { DLPackError } from '../errors.js';
import { isPyObject, PythonError } from '../python/index.js';
import type { Helpers } from './helpers.js';

declare module '../errors.js' {
  interface DLPackErrors {
    /** An error of a task or an actor. */
    RemoteError: RemoteError;
  }
}

/**
 * An error that JavaScript threw in a worker. `stack` is its stack there, and `type` is its name, as `'RangeError'`.
 *
 * @example
 * ```ts no-run: needs Ray
 * import { isDLPackError } from 'dlpack';
 * import * as ray from 'dlpack/ray';
 * const fail = ray.task<() => never>(new URL('./tasks.js', import.meta.url), 'fail');
 * try {
 *   await ray.get(await fail.remote());
 * } catch (error) {
 *   const cause = isDLPackError(error, 'PythonError') ? error.cause : null;
 *   if (isDLPackError(cause, 'RemoteError')) console.log(cause.type, cause.stack);
 * }
 * ```
 */
export class RemoteError extends DLPackError {
  readonly tag = 'RemoteError';
  /** The name of the error in the worker, such as `'RangeError'`. */
  readonly type: string;

  constructor(type: string, message: string, stack: string) {
    super(message);
    this.type = type;
    this.stack = stack;
  }
}

/**
 * The error of a task, made where the program waits for it, so that its stack is the program's. The traceback is the
 * worker's. If JavaScript threw in the worker, the cause is a RemoteError.
 */
export function taskError(error: unknown, helpers: Helpers): unknown {
  if (!(error instanceof PythonError) || !isPyObject(error.exception)) return error;
  const { type, traceback, exception } = error;
  const thrown = helpers.thrown(exception);
  const [name = '', message = '', stack = ''] = thrown === null ? [] : [...thrown];
  const cause = thrown === null ? error.cause : new RemoteError(name, message, stack);
  const text = error.message.startsWith(`${type}: `) ? error.message.slice(type.length + 2) : error.message;
  return new PythonError(type, text, traceback, exception, cause === undefined ? undefined : { cause });
}
