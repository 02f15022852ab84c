/**
 * The functions of the addon for TVM-FFI, as native/tvm_ffi/context.cc exports them. They carry their values in the call
 * frame.
 *
 * @module
 */

export interface FFIBinding {
  /** Calls OBJECT with COUNT arguments from BASE. A string or bytes result is returned, others are in the slot. */
  call(): unknown;
  /** The same, while no other thread uses the table of global functions. */
  callLocked(): unknown;
  /** The same with the arguments of the batch SLOT. The result is in the slot BASE. */
  callWithBatch(): unknown;
  /** Runs the call on another thread, with the arguments of the batch SLOT unless that is 0; CALLBACK numbers its promise. */
  callAsync(): void;
  /** What the borrowed value in SLOT stands for: a string, bytes, a tensor in the exchange frame, a reference in SLOT. */
  take(): unknown;
  disown(): void;
  /** One more reference to the object in SLOT. */
  retain(): void;
  /** One less. */
  drop(): void;
  /** One more reference to the object OBJECT, in SLOT; COUNT becomes its type. */
  retainObject(): void;
  makeString(value: string): void;
  makeBytes(value: Uint8Array): void;
  makeTensor(): void;
  borrowTensor(bytes: Uint8Array): void;
  /** Moves COUNT slots from BASE on to the batch SLOT, which is made for 0. */
  appendValues(): void;
  /** A container of the type in the slot behind COUNT slots from BASE on, of those or of the batch SLOT. */
  makeContainer(): void;
  readSequence(): void;
  /** An iterator over the map OBJECT, in SLOT. */
  iterateEntries(): void;
  /** COUNT entries at the iterator SLOT, into the slots from BASE on. */
  readEntries(): void;
  readTypeKey(): string | undefined;
  getBuiltin(name: string): void;
  getGlobal(name: string): void;
  setGlobal(name: string, override: boolean): void;
  makeCallback(): void;
  moveRaised(): void;
  readError(): [kind: string, message: string, backtrace: string];
  /** Raises an error; OBJECT is its cause, or 0, and becomes its address. */
  setRaised(kind: string, message: string, backtrace: string): void;
  setStream(): void;
  getStream(): void;
  setAllocator(): void;
  /** Has the allocator make what the exchange frame describes, and leaves it there. */
  allocTensor(): void;
  readonly path: string;
}
