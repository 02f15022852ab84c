/**
 * The functions that native code gives to Python's side, as native/python/objects.cc exports them.
 *
 * @module
 */

export interface PythonBinding {
  /** Performs the operation of a PerformRequest. `spilled` is what does not fit into its cells, in order. */
  perform(...spilled: (string | Uint8Array)[]): unknown;
  /** The tensor of the object of a ConsumeRequest. */
  consume(): unknown;
  /** The tensor of the object of a TakeArrayRequest, if nothing about its interface is unusual. */
  takeArray(): void;
  /** The handle of a storage without memory that keeps a Python object; 0 when out of memory. */
  keepObject(handle: number): number;
  /** Drops the object of a handle the next time that a thread of ours holds the GIL. */
  releaseLater(handle: number): void;
  /** Drops what was released. */
  settle(): void;
  /** The same, on another thread while asynchronous calls may hold the GIL. */
  settleLater(): void;
  /** JavaScript no longer waits for the call of this number. */
  abandon(number: number): void;
  /** Remembers which handlers signals have, before operations. */
  rememberSignals(): void;
  /** Puts the handlers of the JavaScript runtime back over those that libraries installed. */
  keepSignals(): void;
  /** The process ends next: exit functions of Python run, and libraries must not go while calls run in them. */
  leave(status: number): void;
  /** The number of the JavaScript value that a function threw, where this exception stands for it; else 0. */
  thrownBy(exception: number): number;
  /** For the thread that waits: an object, whose handle is taken over; with `failed` an exception. */
  answer(request: number, handle: number, failed: boolean): void;
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
