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
  /** The CUDA Array Interface of the object in cell 0, into the array frame. */
  readArray(): unknown;
  releaseLater(): void;
  releaseNow(): void;
}
