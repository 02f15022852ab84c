/**
 * The functions that native code gives to Python's side, as native/python/objects.cc exports them.
 *
 * @module
 */

export interface PythonBinding {
  /** Performs the operation in the object frame. Texts are what does not fit into a cell, in order. */
  do(...texts: (string | Uint8Array)[]): unknown;
  /** The object in the object frame as a tensor in the exchange frame. */
  consume(): unknown;
  /** The CUDA Array Interface of the object in the object frame, into the array frame. */
  readArray(): unknown;
  /** Drops the object in the object frame when somebody next holds the GIL. */
  releaseLater(): void;
  /** Drops what was released. */
  settle(): void;
}

let loaded: PythonBinding | null = null;

export function setBinding(binding: PythonBinding): void {
  loaded = binding;
}

/** Never without: objects and operations exist once an interpreter runs. */
export function binding(): PythonBinding {
  return loaded as PythonBinding;
}
