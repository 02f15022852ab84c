/**
 * Python exceptions as JavaScript errors.
 *
 * @module
 */

import { DLPackError } from '../errors.js';

declare module '../errors.js' {
  interface DLPackErrors {
    PythonError: PythonError;
  }
}

/** The class of the exceptions that stand for what a JavaScript function threw. */
export const JAVASCRIPT_ERROR = 'JavaScriptError';

/**
 * An exception that Python raised. `type` is its class name, `traceback` the text Python would print. Where a JavaScript
 * function threw and Python let it through, `cause` is what was thrown.
 */
export class PythonError extends DLPackError {
  readonly tag = 'PythonError';
  readonly type: string;
  readonly traceback: string;
  /** The exception itself, for its attributes. */
  readonly exception: object | null;

  constructor(
    type: string,
    message: string,
    traceback: string,
    exception: object | null,
    options?: { cause?: unknown },
  ) {
    super(message === '' ? type : `${type}: ${message}`, options);
    this.type = type;
    this.traceback = traceback;
    this.exception = exception;
  }
}
