/** Python exceptions as JavaScript errors. */

import { DLPackError } from '../errors.js';

declare module '../errors.js' {
  interface DLPackErrors {
    PythonError: PythonError;
  }
}

/** The class of the Python exceptions that carry a value thrown by a JavaScript function. */
export const JAVASCRIPT_ERROR = 'JavaScriptError';

/**
 * What Python says to a function that reads the variables of its caller when JavaScript has called it. Not a regular
 * expression: V8 ends the process if it compiles one where the stack is full.
 */
const NO_CALLER = ['call stack is not deep enough', 'frame does not exist'];
const CALL_FROM_PYTHON =
  "; the function reads the variables of its Python caller, so use py.eval('lambda f, *a, **k: f(*a, **k)')(f, ...)";

/**
 * An exception that Python raised. `type` is its class name, and `traceback` is the text that Python would print. If a
 * JavaScript function threw and Python did not catch the exception, `cause` is the thrown value.
 */
export class PythonError extends DLPackError {
  readonly tag = 'PythonError';

  constructor(
    readonly type: string,
    message: string,
    readonly traceback: string,
    /** The Python exception itself, for its attributes. */
    readonly exception: object | null,
    options?: { cause?: unknown },
  ) {
    const advice = NO_CALLER.includes(message) ? CALL_FROM_PYTHON : '';
    super(message === '' ? type : `${type}: ${message}${advice}`, options);
  }
}
