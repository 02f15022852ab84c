/**
 * The functions of the addon for TVM-FFI, as native/tvm_ffi/context.cc exports them. Each has its message on the wire
 * (wire-layout.ts); what a comment names is a message.
 *
 * @module
 */

export interface FFIBinding {
  /** CallRequest. A string or bytes result is returned, a tensor is pushed, others are in the value behind the arguments. */
  call(): unknown;
  /** The same, while no other thread uses the table of global functions. */
  callLocked(): unknown;
  /** The same with the arguments of a batch. The result is the first value. */
  callWithBatch(): unknown;
  /** AsyncCallRequest. */
  callAsync(): void;
  /** ValueRequest: what a borrowed value stands for: a string, bytes, a tensor that is pushed, or a reference. */
  take(): unknown;
  /** ReferenceRequest */
  disown(): void;
  /** ValueRequest: one more reference to the object of a value. */
  retain(): void;
  /** One less. */
  drop(): void;
  /** ObjectRequest: one more reference to an object, and its type. */
  retainObject(): void;
  /** ValueRequest */
  makeString(value: string): void;
  makeBytes(value: Uint8Array): void;
  /** TensorObjectRequest */
  makeTensor(): void;
  borrowTensor(bytes: Uint8Array): void;
  /** BatchRequest */
  appendValues(): void;
  /** ContainerRequest */
  makeContainer(): void;
  /** SequenceRequest */
  readSequence(): void;
  /** EntriesRequest: an iterator. */
  iterateEntries(): void;
  /** EntriesRequest: entries at an iterator. */
  readEntries(): void;
  /** ObjectRequest */
  readTypeKey(): string | undefined;
  /** TypeRequest */
  findType(key: string): void;
  readType():
    | [key: string, parent: number, fields: readonly (string | number)[], methods: readonly (string | number)[]]
    | undefined;
  /** MethodRequest */
  getMethod(): void;
  getConstructor(): void;
  /** FieldRequest: the value is as the result of a call. */
  getField(): unknown;
  setField(): void;
  /** ObjectRequest */
  getBuiltin(name: string): void;
  getGlobal(name: string): void;
  setGlobal(name: string, override: boolean): void;
  /** CallbackMakeRequest */
  makeCallback(): void;
  /** ErrorRequest */
  moveRaised(): void;
  readError(): [kind: string, message: string, backtrace: string];
  /** Raises an error with a cause; the address of the error is the result. */
  setRaised(kind: string, message: string, backtrace: string): void;
  /** StreamRequest */
  setStream(): void;
  getStream(): void;
  /** AllocatorRequest */
  setAllocator(): void;
  /** TensorAllocateRequest */
  allocTensor(): void;
  readonly path: string;
  /** False: the structs for fields and methods of this version are not those that native code knows. */
  readonly isReflective: boolean;
  /** The address of the wire, in two halves. */
  readonly wireLow: number;
  readonly wireHigh: number;
}
