/** Errors that ONNX Runtime reports. */

import { DLPackError, isDLPackError } from '../errors.js';

declare module '../errors.js' {
  interface DLPackErrors {
    /** An error of ONNX Runtime. */
    OnnxRuntimeError: OnnxRuntimeError;
  }
}

/** The names of ONNX Runtime's error codes, by number. */
const codes = [
  'OK',
  'FAIL',
  'INVALID_ARGUMENT',
  'NO_SUCHFILE',
  'NO_MODEL',
  'ENGINE_ERROR',
  'RUNTIME_EXCEPTION',
  'INVALID_PROTOBUF',
  'MODEL_LOADED',
  'NOT_IMPLEMENTED',
  'INVALID_GRAPH',
  'EP_FAIL',
  'MODEL_LOAD_CANCELED',
  'MODEL_REQUIRES_COMPILATION',
  'NOT_FOUND',
] as const;

/** The name of an error code of ONNX Runtime. */
export type OnnxRuntimeCode = Exclude<(typeof codes)[number], 'OK'> | 'UNKNOWN';

/** A model of a later version of ONNX has different codes in different versions of ONNX Runtime. */
const isTooNew = /Unsupported model IR version|official support for domain .* is till opset/;
const newerVersion = 'the model needs a newer version of ONNX Runtime';

const hints: Readonly<Partial<Record<OnnxRuntimeCode, string>>> = {
  NO_SUCHFILE: 'check the path of the model, and of its files with external data',
  INVALID_PROTOBUF: 'the file is damaged, or is no ONNX model; download or export it again',
  NOT_IMPLEMENTED: 'no provider has a kernel for this; another dtype, opset or version of ONNX Runtime may have one',
  INVALID_GRAPH: 'the model may need a newer version of ONNX Runtime',
};

/**
 * ONNX Runtime could not load or run a model. `code` is its own name for the kind of failure.
 *
 * @example
 * ```ts
 * import { isDLPackError } from 'dlpack';
 * import { loadSession } from 'dlpack/onnxruntime';
 * try {
 *   await loadSession('nowhere.onnx');
 * } catch (error) {
 *   if (!isDLPackError(error, 'OnnxRuntimeError')) throw error;
 *   console.log(error.code); // NO_SUCHFILE
 * }
 * ```
 */
export class OnnxRuntimeError extends DLPackError {
  readonly tag = 'OnnxRuntimeError';
  /** ONNX Runtime's code, such as `'INVALID_ARGUMENT'`. */
  readonly code: OnnxRuntimeCode;

  constructor(what: string, [number, text]: readonly [code: number, text: string]) {
    const code = number > 0 ? (codes[number] ?? 'UNKNOWN') : 'UNKNOWN';
    const hint = isTooNew.test(text) ? newerVersion : hints[code as OnnxRuntimeCode];
    super(
      `Expected ${what} but ONNX Runtime answered ${code}: ${text.trimEnd()}${hint === undefined ? '' : `; ${hint}`}`,
    );
    this.code = code as OnnxRuntimeCode;
  }
}

/** An error of this package that was thrown for one value of a run, which now says for which one. */
export function named(what: string, error: unknown): unknown {
  if (isDLPackError(error) && !error.message.includes(what)) {
    const { message, stack } = error;
    error.message = `${what}: ${message}`;
    if (stack !== undefined) error.stack = stack.replace(message, () => error.message);
  }
  return error;
}
