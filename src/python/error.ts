/** Python exceptions as JavaScript errors. */

import { DLPackError } from '../errors.js';
import { captureCaller, framesOf } from './calls/caller.js';

declare module '../errors.js' {
  interface DLPackErrors {
    /** An exception of Python. */
    PythonError: PythonError;
  }
}

/** The class of the Python exceptions that carry a value thrown by a JavaScript function. */
export const JAVASCRIPT_ERROR = 'JavaScriptError';

/** What Python says to a function that reads the variables of its caller when JavaScript has called it. */
const NO_CALLER = ['call stack is not deep enough', 'frame does not exist'];
const CALL_FROM_PYTHON =
  "; the function reads the variables of its Python caller, so use py.eval('lambda f, *a, **k: f(*a, **k)')(f, ...)";

const TAKE_TENSOR =
  '; a dlpack.Tensor is a tensor of JavaScript: pass an object of the library, such as torch.from_dlpack(x)';

const SHARE_MEMORY =
  '; an array over a copy of JavaScript memory, such as Tensor.wrap(array), is read-only: pass Tensor.from(array) or ' +
  'Tensor.adopt(array), whose memory is shared, or ask NumPy for a copy';

const TAKE_ARRAY = '; out takes an array of NumPy: for a tensor of JavaScript pass np.from_dlpack(x)';

/** What Python and NumPy say about a write to memory that is read-only. */
const READ_ONLY =
  /^(assignment destination|output array|buffer source array) is read-only$|read-write bytes-like object, not dlpack\.Tensor/;

/** What to do about an exception whose own text does not tell. */
function adviceOn(type: string, message: string): string {
  if (['TypeError', 'ValueError'].includes(type) && READ_ONLY.test(message)) return SHARE_MEMORY;
  if (type === 'TypeError' && message === 'return arrays must be of ArrayType') return TAKE_ARRAY;
  if (NO_CALLER.includes(message)) return CALL_FROM_PYTHON;
  const isAboutTensor = message.includes('dlpack.Tensor') && !message.includes('from_dlpack');
  return isAboutTensor && ['TypeError', 'ValueError', 'RuntimeError'].includes(type) ? TAKE_TENSOR : '';
}

/**
 * An exception that Python raised. `type` is its class name, and `traceback` is the text that Python would print. `stack`
 * has both the traceback and the frames of the JavaScript caller, also after an asynchronous call. If a JavaScript
 * function threw and Python did not catch the exception, `cause` is the thrown value.
 *
 * @example
 * ```ts
 * import { isDLPackError } from 'dlpack';
 * import { python } from 'dlpack/python';
 * try {
 *   python().import('builtins').int('x');
 * } catch (error) {
 *   if (!isDLPackError(error, 'PythonError')) throw error;
 *   console.log(error.type); // ValueError
 * }
 * ```
 */
export class PythonError extends DLPackError {
  readonly tag = 'PythonError';
  /** The text that Python would print. */
  declare readonly traceback: string;
  /** The Python exception itself, for its attributes. The variables of its frames are released, except those of generators. */
  declare readonly exception: object | null;

  constructor(
    /** The name of the exception's class, such as `'ValueError'`. */
    readonly type: string,
    message: string,
    traceback: string,
    exception: object | null,
    options?: { cause?: unknown; caller?: Error | undefined },
  ) {
    const { caller = captureCaller(), ...rest } = options ?? {};
    super(message === '' ? type : `${type}: ${message}${adviceOn(type, message)}`, rest);
    // Not enumerable, because loggers print what is: the traceback is in the stack, and an object of Python is no text.
    Object.defineProperties(this, {
      traceback: { value: traceback },
      exception: { value: exception },
      stack: {
        configurable: true,
        get: () => describeStack(this, caller),
        set: (value) => Object.defineProperty(this, 'stack', { value, writable: true }),
      },
    });
  }
}

/** The error, Python's traceback if it has a frame, and the frames of the program, as loggers expect a stack. */
function describeStack({ name, message, traceback }: PythonError, caller: Error): string {
  const python = traceback.includes('  File ') ? [traceback.trimEnd()] : [];
  return [`${name}: ${message}`, ...python, ...framesOf(caller)].join('\n');
}
