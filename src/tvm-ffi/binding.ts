/**
 * The functions of the addon for TVM-FFI, as native/tvm_ffi/context.cc exports them. Calls, tensors, fields and elements are
 * on the wire: a comment names the message of such a function (wire-layout.ts). The other functions take ordinary arguments, and
 * return undefined or false when they have raised an error. An address is the double with the same bits.
 */

/** An object's address, and the number of a reference to it. */
export type Referenced = readonly [pointer: number, reference: number];

export interface FFIBinding {
  /**
   * CallRequest. Returns a string or bytes result, the number of a JavaScript value that native code held, or true for
   * an object that others hold, too; pushes a tensor; and writes other results into the value after the arguments.
   */
  call(): unknown;
  /** As `call`, with the arguments of a batch. The result is the first value. */
  callWithBatch(): unknown;
  /**
   * Calls a function on another thread, with the arguments of a batch. `onEnd` gets a SettleRequest. The device has the type 0
   * when the call has no stream. False when out of memory.
   */
  callAsync(
    pointer: number,
    batch: number,
    deviceType: number,
    deviceId: number,
    stream: bigint,
    onEnd: () => void,
  ): boolean;
  /** ValueRequest. Takes the contents of a borrowed value: a string, bytes, a tensor that is pushed, or a reference. */
  take(): unknown;
  /** Drops the reference of a number. */
  disown(reference: number): void;
  /** Adds a reference to the object of the value at a word. */
  retain(word: number): boolean;
  /** Drops such a reference. */
  drop(word: number): void;
  /** Gives the result, at a word, of the callback in a slot a reference of its own. */
  ownResult(slot: number, word: number): boolean;
  /** Makes a value of the address at a word, and returns the number of a reference to its object. */
  readObject(word: number): number | undefined;
  /** Make the value at a word. Return the number of a reference to its object; 0 for a value that is not an object. */
  makeString(word: number, value: string): number | undefined;
  makeBytes(word: number, value: Uint8Array): number | undefined;
  makeBigInt(word: number, value: bigint): number | undefined;
  /** TensorArgument. Writes the address of the bytes. */
  readAddress(bytes: Uint8Array): void;
  /** TensorArgument. Makes an object of the tensor, with a reference. */
  keepTensor(): void;
  /** Copies values to a batch, a new one for the number 0, and returns its number. */
  appendValues(batch: number, word: number, count: number): number | undefined;
  /** ContainerRequest */
  makeContainer(): void;
  /** SequenceRequest */
  readSequence(): void;
  /** The number of an iterator over a Map or Dict; 0 when it is empty. */
  iterateEntries(pointer: number): number | undefined;
  /** Reads entries at an iterator to a word: keys and values alternate, and stay borrowed. */
  readEntries(iterator: number, word: number, count: number): [count: number, isLast: boolean] | undefined;
  readTypeKey(pointer: number): string | undefined;
  /** The number of a type; -1 when there is none. */
  findType(key: string): number | undefined;
  readType(
    type: number,
  ):
    | [
        key: string,
        parent: number,
        fields: readonly (string | number)[],
        methods: readonly (string | number)[],
        structuralKind: number,
      ]
    | undefined;
  /** Null for a value that is not a function. */
  getMethod(type: number, index: number): Referenced | null | undefined;
  getConstructor(type: number): Referenced | null | undefined;
  /** FieldRequest. The value is returned as the result of a call is. */
  getField(): unknown;
  setField(): void;
  /** The address of a function that stays; 0 when there is none. */
  getBuiltin(name: string): number;
  getGlobal(name: string): Referenced | null | undefined;
  setGlobal(name: string, pointer: number, override: boolean): boolean;
  /** HostRequest. Only an object that was made takes over the pin. */
  makeHostFunction(): void;
  makeHostObject(): void;
  /** HostRequest. An object of a registered class, with a weak reference to it. */
  makeTypedObject(): void;
  /** HostRequest. Adds a reference to the object of a weak reference. 0: native code has released the object. */
  findHostObject(): void;
  /** Drops a weak reference. */
  dropHostObject(weak: number): void;
  /** A new type for JavaScript objects. */
  registerType(key: string): number | undefined;
  /** A field of such a type, by its index. */
  registerField(type: number, index: number, name: string): boolean;
  /** A function as a method of such a type. */
  registerMethod(type: number, name: string, pointer: number): boolean;
  /** Takes the raised error of this thread. */
  moveRaised(): Referenced | null;
  /** `thrown` is the number of the value that JavaScript threw; 0 for none. */
  readError(
    pointer: number,
  ): [kind: string, message: string, backtrace: string, cause: number, causeReference: number, thrown: number];
  /** Raises an error with a cause and the value that was thrown. Returns whether native code has taken over the pin. */
  setRaised(kind: string, message: string, backtrace: string, cause: number, thrown: number, pin: number): boolean;
  /** Raises an error that came from native code, with a new backtrace. */
  raiseAgain(pointer: number, backtrace: string): void;
  /** Returns the previous stream. */
  setStream(deviceType: number, deviceId: number, stream: bigint): bigint | undefined;
  getStream(deviceType: number, deviceId: number): bigint;
  /** `address` of a C allocator, or 0n; `callback` is the number of a JavaScript function, or 0. Both 0: our own. */
  setAllocator(address: bigint, callback: number): void;
  /** TensorAllocateRequest */
  allocTensor(): void;
  readonly path: string;
  /** False when native code does not know the structs for fields and methods in this version. */
  readonly isReflective: boolean;
  /** The address of the wire, in two halves. */
  readonly wireLow: number;
  readonly wireHigh: number;
}
