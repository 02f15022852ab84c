/**
 * Functions of calls.ts, fields.ts and dispatch.ts for modules below them. Containers and objects are results of calls, and make
 * calls themselves. The library must know the functions that native code calls before it is loaded.
 */

export interface CallOperations {
  /** Calls the function at an address. */
  invoke(pointer: number, args: readonly unknown[]): unknown;
  /** The same, but an Array or Map that it returns becomes a view. */
  invokeForView(pointer: number, args: readonly unknown[]): unknown;
  /** Reads the value at a word of the wire. The caller keeps the object of the value alive. */
  takeValue(at: number): unknown;
  /** The same, but an Array or Map becomes a view. */
  takeView(at: number): unknown;
  /** Reads a field of an object. `asView`: an Array or Map becomes a view instead of a copy. */
  getField(pointer: number, getter: number, offset: number, asView: boolean): unknown;
  setField(pointer: number, type: number, index: number, value: unknown): void;
  /** The JavaScript function for a native function with a reference, the same one as long as it is alive. */
  functionAt(pointer: number, reference: number): (...args: unknown[]) => unknown;
  /** Runs a JavaScript function for a {@link CallbackRequest} of native code. */
  onCall(): void;
  /** Settles a promise for a {@link SettleRequest} of native code. */
  onSettle(): void;
}

/** Filled by calls.ts, fields.ts and dispatch.ts when they are loaded. */
export const operations = {} as CallOperations;
