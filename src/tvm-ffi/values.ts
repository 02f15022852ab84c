/**
 * Values of TVM-FFI that JavaScript has no type for.
 *
 * @module
 */

import { type Device, parseDevice } from '../device.js';
import { type DType, parseDType } from '../dtype.js';
import { ArgumentTypeError, ArgumentValueError } from '../errors.js';
import { f64, OBJECT } from './call-frame.js';
import { ffi } from './library.js';
import { ObjectHandle } from './objects.js';

function listOf<T>(values: Iterable<T>, argument: string): T[] {
  if (typeof (values as Partial<Iterable<T>> | null)?.[Symbol.iterator] !== 'function') {
    throw new ArgumentTypeError(argument, 'an array or another iterable', values);
  }
  return [...values];
}

/** A shape as a value: `ffi.Shape`. Immutable. */
export class Shape implements Iterable<number> {
  readonly dims: readonly number[];

  constructor(dims: Iterable<number>) {
    const list = listOf(dims, 'shape');
    for (const length of list) {
      if (!Number.isSafeInteger(length)) throw new ArgumentTypeError('shape', 'integers', length);
    }
    this.dims = Object.freeze(list);
  }

  get length(): number {
    return this.dims.length;
  }

  /** The product of all lengths. */
  get size(): number {
    return this.dims.reduce((product, length) => product * length, 1);
  }

  [Symbol.iterator](): Iterator<number> {
    return this.dims[Symbol.iterator]();
  }

  toJSON(): readonly number[] {
    return this.dims;
  }

  toString(): string {
    return `Shape(${this.dims.join(', ')})`;
  }
}

/** An element type as a value: `DLDataType`. */
export class DataType {
  readonly name: DType;

  constructor(name: DType) {
    this.name = parseDType(name).name as DType;
  }

  toJSON(): string {
    return this.name;
  }

  toString(): string {
    return this.name;
  }
}

/** A device as a value: `DLDevice`. */
export class DeviceValue {
  readonly name: Device;

  constructor(name: Device) {
    this.name = parseDevice(name).name;
  }

  toJSON(): string {
    return this.name;
  }

  toString(): string {
    return this.name;
  }
}

/** An address without an owner: `void*`. */
export class OpaquePointer {
  readonly address: bigint;

  constructor(address: bigint) {
    if (typeof address !== 'bigint' || BigInt.asUintN(64, address) !== address) {
      throw new ArgumentValueError('address', 'an unsigned 64-bit bigint', address);
    }
    this.address = address;
  }
}

/** Passes an array as a mutable `ffi.List` instead of an `ffi.Array`. */
export class List {
  readonly items: readonly unknown[];

  constructor(items: Iterable<unknown>) {
    this.items = listOf(items, 'items');
  }
}

/** Passes entries as a mutable `ffi.Dict` instead of an `ffi.Map`. */
export class Dict {
  readonly entries: readonly (readonly [unknown, unknown])[];

  constructor(entries: Iterable<readonly [unknown, unknown]>) {
    this.entries = listOf(entries, 'entries');
    for (const entry of this.entries) {
      if (!Array.isArray(entry) || entry.length !== 2) throw new ArgumentTypeError('entries', '[key, value]', entry);
    }
  }
}

/** Passes an object so that the callee may take it over instead of sharing it: `ObjectRValueRef`. */
export class RValue {
  readonly value: unknown;

  constructor(value: unknown) {
    this.value = value;
  }
}

/** Reads the private handle of an {@link FFIObject}. For this module's other files. */
export let handleOf: (object: FFIObject) => ObjectHandle;

/** An object of a class that only native code knows. It can be passed on; the collector releases its reference. */
export class FFIObject {
  readonly #handle: ObjectHandle;

  /** Objects come from native code; the constructor is for this package. */
  constructor(handle: ObjectHandle) {
    // Native code follows its pointer.
    if (!(handle instanceof ObjectHandle)) {
      throw new ArgumentTypeError('handle', 'an object that a native function returned', handle);
    }
    this.#handle = handle;
  }

  static {
    handleOf = (object) => object.#handle;
  }

  /** The name its class is registered under. */
  get typeKey(): string {
    f64[OBJECT] = this.#handle.pointer;
    return ffi.readTypeKey() ?? 'ffi.Object';
  }

  toString(): string {
    return `FFIObject(${this.typeKey})`;
  }
}
