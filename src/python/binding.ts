/**
 * The functions that native code gives to Python's side, as native/python/objects.cc exports them.
 *
 * @module
 */

export interface PythonBinding {
  /** Performs the operation in the object frame. `spilled` is what does not fit into a cell, in order. */
  perform(...spilled: (string | Uint8Array)[]): unknown;
  /** The object in the object frame as a tensor in the exchange frame. */
  consume(): unknown;
  /** The CUDA Array Interface of the object in the object frame, into the array frame. */
  readArray(): unknown;
  /** The same as a tensor in the exchange frame, if nothing about it is out of the ordinary. */
  takeArray(): void;
  /** Drops the object in the object frame the next time that a thread of ours holds the GIL. */
  releaseLater(): void;
  /** Drops what was released. */
  settle(): void;
  /**
   * Starts the call of a tuple (function, ...arguments) with a dict of keywords, or 0; both handles are taken over. `number`
   * is that of its promise.
   */
  callAsync(tuple: number, dict: number, number: number): unknown;
  /** JavaScript no longer waits for the call of this number. */
  abandon(number: number): void;
  /** The process ends next: libraries must not go while calls run in them. */
  leave(status: number): void;
  /** Handles of a new Python callable for the JavaScript value of a number, and of a weak reference to it; undefined when out of memory. */
  makeFunction(number: number, pin: number, name: string): [object: number, weak: number] | undefined;
  /** The handle of a new reference to the callable of a weak reference; 0 when Python has deallocated the callable. */
  reviveFunction(weak: number): number;
  /** The number of the JavaScript value that a function threw, where this exception stands for it; else 0. */
  thrownBy(exception: number): number;
  /** For the thread that waits: the one element of a tuple, which is taken over, or with `failed` an exception. */
  answer(request: number, tuple: number, failed: boolean): void;
  /** The thread will wait for a promise; false when too many do. */
  postpone(request: number): boolean;
}

let loaded: PythonBinding | null = null;

export function setBinding(binding: PythonBinding): void {
  loaded = binding;
}

/** Never without: objects and operations exist once an interpreter runs. */
export function binding(): PythonBinding {
  return loaded as PythonBinding;
}
