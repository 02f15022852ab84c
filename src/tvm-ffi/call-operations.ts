/**
 * The functions of calls.ts for modules below it: containers are results of calls, and use calls themselves.
 *
 * @module
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
}

/** Filled by calls.ts when it is loaded. */
export const operations = {} as CallOperations;
