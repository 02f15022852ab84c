/**
 * Python exceptions as JavaScript errors.
 *
 * @module
 */

import { DLPackError } from '../errors.js';

/** An exception that Python raised. `type` is its class name, `traceback` the text Python would print. */
export class PythonError extends DLPackError {
  readonly tag = 'PythonError';
  readonly type: string;
  readonly traceback: string;
  /** The exception itself, for its attributes. */
  readonly exception: object | null;

  constructor(type: string, message: string, traceback: string, exception: object | null) {
    super(message === '' ? type : `${type}: ${message}`);
    this.type = type;
    this.traceback = traceback;
    this.exception = exception;
  }
}
