/**
 * The functions of the addon for TVM-FFI, as native/tvm_ffi/context.cc exports them. Each comment names the message of
 * a function on the wire (wire-layout.ts).
 */

export interface FFIBinding {
  /**
   * CallRequest. Returns a string or bytes result, the number of a JavaScript value that native code held, or true for
   * an object that others hold, too; pushes a tensor; and writes other results into the value after the arguments.
   */
  call(): unknown;
  /** As `call`, while no other thread uses the table of global functions. */
  callLocked(): unknown;
  /** As `call`, with arguments that are {@link DescribedTensor}s. */
  callDescribed(): unknown;
  /** As `call`, with the arguments of a batch. The result is the first value. */
  callWithBatch(): unknown;
  /** AsyncCallRequest. */
  callAsync(): void;
  /** ValueRequest. Takes the contents of a borrowed value: a string, bytes, a tensor that is pushed, or a reference. */
  take(): unknown;
  /** ReferenceRequest */
  disown(): void;
  /** ValueRequest. Adds a reference to the object of a value. */
  retain(): void;
  /** ValueRequest. Drops a reference. */
  drop(): void;
  /** ObjectRequest. Adds a reference to an object and returns its type. */
  retainObject(): void;
  /** ValueRequest */
  makeString(value: string): void;
  makeBytes(value: Uint8Array): void;
  /** TensorObjectRequest */
  makeTensor(): void;
  borrowTensor(bytes: Uint8Array): void;
  /** DescribedTensor. Writes the address of the bytes. */
  readAddress(bytes: Uint8Array): void;
  /** BatchRequest */
  appendValues(): void;
  /** ContainerRequest */
  makeContainer(): void;
  /** SequenceRequest */
  readSequence(): void;
  /** EntriesRequest. Makes an iterator. */
  iterateEntries(): void;
  /** EntriesRequest. Reads the entries at an iterator. */
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
  /** FieldRequest. The value is returned as the result of a call is. */
  getField(): unknown;
  setField(): void;
  /** ObjectRequest */
  getBuiltin(name: string): void;
  getGlobal(name: string): void;
  setGlobal(name: string, override: boolean): void;
  /** HostRequest */
  makeHostFunction(): void;
  makeHostObject(): void;
  /** HostRequest. An object of a registered class, with a weak reference to it. */
  makeTypedObject(): void;
  /** HostRequest. Adds a reference to the object of a weak reference. 0: native code has released the object. */
  findHostObject(): void;
  /** ReferenceRequest. Drops a weak reference. */
  dropHostObject(): void;
  /** TypeRequest. A new type for JavaScript objects. */
  registerType(key: string): void;
  /** FieldRequest. A field of such a type, by its index. */
  registerField(name: string): void;
  /** FieldRequest. A function as a method of such a type. */
  registerMethod(name: string): void;
  /** ErrorRequest */
  moveRaised(): void;
  readError(): [kind: string, message: string, backtrace: string];
  /** ErrorRequest. Raises an error with a cause and the value that was thrown. */
  setRaised(kind: string, message: string, backtrace: string): void;
  /** ErrorRequest. Raises an error that came from native code, with a new backtrace. */
  raiseAgain(backtrace: string): void;
  /** StreamRequest */
  setStream(): void;
  getStream(): void;
  /** AllocatorRequest */
  setAllocator(): void;
  /** TensorAllocateRequest */
  allocTensor(): void;
  readonly path: string;
  /** False when native code does not know the structs for fields and methods in this version. */
  readonly isReflective: boolean;
  /** The address of the wire, in two halves. */
  readonly wireLow: number;
  readonly wireHigh: number;
}
