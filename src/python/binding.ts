/**
 * The functions that native code gives to Python's side, as native/python/objects.cc exports them.
 *
 * @module
 */

export interface PythonBinding {
  /** Performs the operation in the object frame. Texts are what does not fit into a cell, in order. */
  do(...texts: (string | Uint8Array)[]): unknown;
  /** The tensor in the exchange frame as a Python object. */
  makeTensor(): unknown;
  /** The object in cell 0 as a tensor in the exchange frame. */
  consume(): unknown;
  releaseLater(): void;
  releaseNow(): void;
  /** Starts the call of a tuple (function, ...arguments) in cell 0 and a dict in cell 1; cell 2 numbers its promise. */
  callAsync(): unknown;
  /** Nobody waits any more for the call that cell 0 numbers. */
  abandon(): void;
  /** The process ends next: libraries must not go while calls run in them. */
  leave(): void;
  /** A Python callable for the JavaScript function that cell 0 numbers. */
  makeFunction(name: string): unknown;
  /** The number of the JavaScript function that the object in cell 0 is, or 0. */
  numberOf(): void;
  /** The value in cell 0 for the thread that waits. */
  answer(text: string | Uint8Array | null): void;
  /** The thread will wait for a promise. */
  postpone(): void;
}
