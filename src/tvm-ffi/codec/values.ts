/** TVM-FFI values that JavaScript has no type for. */

import { type Device, type DLDevice, deviceFromType, parseDevice } from '../../device.js';
import { type DLDataType, type DType, dtypeFromCode, parseDType, TypeCode } from '../../dtype.js';
import { ArgumentTypeError, ArgumentValueError, isUsable } from '../../errors.js';
import { disposeSymbol } from '../../storage/storage.js';
import { ffi } from '../library.js';
import { ObjectHandle } from '../objects/objects.js';

/**
 * A method with this name returns the value that native code receives in place of an object, like `__tvm_ffi_value__`
 * in Python.
 */
export const TVM_FFI_VALUE: unique symbol = Symbol.for('tvm_ffi.value') as never;

/**
 * A method with this name returns the address of a native object (`TVMFFIObject*`) that native code receives in place
 * of the JavaScript object, like `__tvm_ffi_object__` in Python. The address is trusted.
 */
export const TVM_FFI_OBJECT: unique symbol = Symbol.for('tvm_ffi.object') as never;

/** The values of an iterable. */
export function listOf<T>(values: Iterable<T>, argument: string): T[] {
  const isReadable = typeof values !== 'object' || isUsable(values);
  if (!isReadable || typeof (values as Partial<Iterable<T>> | null)?.[Symbol.iterator] !== 'function') {
    throw new ArgumentTypeError(argument, 'an array or another iterable', values);
  }
  return [...values];
}

/**
 * Represents a shape as a value: `ffi.Shape`. Immutable.
 *
 * @example
 * ```ts
 * import { Shape } from 'dlpack/tvm-ffi';
 * console.log(new Shape([2, 3]).size, String(new Shape([2, 3]))); // 6 Shape(2, 3)
 * ```
 */
export class Shape implements Iterable<number> {
  /** The lengths. */
  readonly dims: readonly number[];

  /**
   * Makes a shape.
   *
   * @param dims - The lengths of the axes.
   * @throws ArgumentTypeError for anything but integers.
   */
  constructor(dims: Iterable<number>) {
    const list = listOf(dims, 'shape');
    for (const length of list) {
      if (!Number.isSafeInteger(length)) throw new ArgumentTypeError('shape', 'integers', length);
    }
    this.dims = Object.freeze(list);
  }

  /** The number of axes. */
  get length(): number {
    return this.dims.length;
  }

  /** The product of all lengths. */
  get size(): number {
    return this.dims.reduce((product, length) => product * length, 1);
  }

  /** Iterates over the lengths. */
  [Symbol.iterator](): Iterator<number> {
    return this.dims[Symbol.iterator]();
  }

  /** Returns the lengths. */
  toJSON(): readonly number[] {
    return this.dims;
  }

  toString(): string {
    return `Shape(${this.dims.join(', ')})`;
  }
}

/**
 * Represents an element type as a value: `DLDataType`. `'void'` is the type of a function without a result. A type that
 * this package does not know has a name such as `'unknown(99, 8, 1)'`.
 *
 * @example
 * ```ts
 * import { DataType } from 'dlpack/tvm-ffi';
 * console.log(new DataType('f32').name, new DataType('float32').bits); // float32 32
 * ```
 */
export class DataType implements DLDataType {
  /** The dtype, such as `float32`. */
  readonly name: DType | 'void' | `unknown(${string})`;
  readonly code: number;
  readonly bits: number;
  readonly lanes: number;

  /**
   * Makes the value of an element type.
   *
   * @param name - The name, which may be short, as in TVM: `'f32'`, `'bf16'`, `'u8'`, `'fp8_e4m3fn'`, `'f4_e2m1fn_x2'`;
   *   or the three numbers.
   * @throws UnsupportedDTypeError for an unknown name, and ArgumentValueError for numbers that the C type cannot hold.
   */
  constructor(name: DType | 'void' | ShortDType | DLDataType) {
    const { code, bits, lanes } = isUsable(name)
      ? name
      : (name as string) === 'void'
        ? VOID
        : parseDType(fullName(name));
    this.name = nameOf(code, bits, lanes);
    this.code = code;
    this.bits = bits;
    this.lanes = lanes;
  }

  /** Returns the name. */
  toJSON(): string {
    return this.name;
  }

  toString(): string {
    return this.name;
  }
}

/** A short name of a dtype. */
export type ShortDType = `${'i' | 'u' | 'f' | 'fp' | 'bf'}${number}${string}`;

const prefixes: Readonly<Record<string, string>> = { i: 'int', u: 'uint', f: 'float', fp: 'float', bf: 'bfloat' };

function fullName(name: string): DType {
  if (typeof name !== 'string') return name; // parseDType throws
  const full = name.replace(/^(i|u|fp?|bf)(?=\d)/, (prefix) => prefixes[prefix] as string);
  return full.replace(/_x(?=\d+$)/, 'x') as DType;
}

const VOID: DLDataType = { code: TypeCode.handle, bits: 0, lanes: 0 };

function nameOf(code: number, bits: number, lanes: number): DataType['name'] {
  if (code === VOID.code && bits === 0 && lanes === 0) return 'void';
  for (const [part, limit] of [
    [code, 0xff],
    [bits, 0xff],
    [lanes, 0xffff],
  ] as const) {
    if (!Number.isInteger(part) || part < 0 || part > limit) {
      throw new ArgumentValueError('dtype', `an integer from 0 to ${limit}`, part);
    }
  }
  try {
    return dtypeFromCode(code, bits, lanes).name;
  } catch {
    return `unknown(${code}, ${bits}, ${lanes})`;
  }
}

/**
 * Represents a device as a value: `DLDevice`.
 *
 * @example
 * ```ts
 * import { DeviceValue } from 'dlpack/tvm-ffi';
 * console.log(new DeviceValue('cuda:1').id); // 1
 * ```
 */
export class DeviceValue implements DLDevice {
  /** A device type that this package does not know has a name such as `'unknown(77):0'`. */
  readonly name: Device | `unknown(${number}):${number}`;
  readonly type: number;
  readonly id: number;

  /**
   * Makes the value of a device.
   *
   * @param name - The name, such as `'cuda:1'`, or the two numbers.
   * @throws UnsupportedDeviceError for an unknown name, and ArgumentTypeError for anything but 32-bit integers.
   */
  constructor(name: Device | DLDevice) {
    const { type, id } = isUsable(name) ? name : parseDevice(name);
    this.name = deviceName(type, id);
    this.type = type;
    this.id = id;
  }

  /** Returns the name. */
  toJSON(): string {
    return this.name;
  }

  toString(): string {
    return this.name;
  }
}

function deviceName(type: number, id: number): DeviceValue['name'] {
  for (const part of [type, id]) {
    if ((part | 0) !== part) throw new ArgumentTypeError('device', '32-bit integers as type and id', part);
  }
  try {
    return deviceFromType(type, id).name;
  } catch {
    return `unknown(${type}):${id}`;
  }
}

/** What a structural mutation returns for a value that it leaves as it is. */
export const UNCHANGED: unique symbol = Symbol.for('tvm_ffi.unchanged') as never;

/**
 * Represents an address without an owner: `void*`.
 *
 * @example
 * ```ts
 * import { OpaquePointer } from 'dlpack/tvm-ffi';
 * console.log(new OpaquePointer(4096n).address); // 4096n
 * ```
 */
export class OpaquePointer {
  constructor(
    /** The address. */
    readonly address: bigint,
  ) {
    if (typeof address !== 'bigint' || BigInt.asUintN(64, address) !== address) {
      throw new ArgumentValueError('address', 'an unsigned 64-bit bigint', address);
    }
  }
}

/**
 * Passes an object so that the callee may take it over instead of sharing it: `ObjectRValueRef`.
 *
 * @example
 * ```ts
 * import { List, RValue, toFunction } from 'dlpack/tvm-ffi';
 * const length = toFunction((list: List) => list.length);
 * console.log(length(new RValue(new List([1, 2])))); // 2
 * ```
 */
export class RValue {
  constructor(
    /** The value that moves. */
    readonly value: unknown,
  ) {}
}

/**
 * Passes any JavaScript value as an object that native code can only hold and pass on. It comes back as that value.
 *
 * @example
 * ```ts
 * import { getGlobalFunc, Opaque } from 'dlpack/tvm-ffi';
 * const key = Symbol('mine');
 * const [same] = getGlobalFunc('ffi.Array')(new Opaque(key)) as unknown[];
 * console.log(same === key); // true
 * ```
 */
export class Opaque {
  constructor(
    /** The value. */
    readonly value: unknown,
  ) {}
}

/** Reads the private handle of an {@link FFIObject}. For this module's other files. */
export let objectHandle: (object: FFIObject) => ObjectHandle;

/**
 * A native object. It can be passed on, and has the fields and methods that its type declares. `using`, `dispose()` and
 * the end of a `scope` that tracks it release the reference of JavaScript; otherwise the garbage collector does.
 *
 * @hideconstructor
 * @example
 * ```ts
 * import { FFIObject, List } from 'dlpack/tvm-ffi';
 * using list: FFIObject = new List([1, 2]);
 * console.log(list instanceof FFIObject, list.typeKey); // true ffi.List
 * ```
 */
export class FFIObject {
  readonly #handle: ObjectHandle;

  /** For this package only, because objects come from native code. */
  constructor(handle: ObjectHandle) {
    // Check the handle, because native code follows its pointer.
    if (!(handle instanceof ObjectHandle)) {
      throw new ArgumentTypeError('handle', 'an object that a native function returned', handle);
    }
    this.#handle = handle;
  }

  static {
    objectHandle = (object) => object.#handle;
  }

  /** The name under which its class is registered. */
  get typeKey(): string {
    return ffi.readTypeKey(this.#handle.pointer) ?? 'ffi.Object';
  }

  /**
   * Releases the object now, instead of when the garbage collector finds it. Native code that has the object keeps it. Using it
   * afterwards throws a `DisposedError`, also through `live(object)`. A second call does nothing. If the type declares a
   * member of this name, that member is here, and `[Symbol.dispose]()` releases.
   */
  dispose(): void {
    this.#handle.dispose();
  }

  /** Releases the object, as `dispose()` does, for `using`. */
  [disposeSymbol](): void {
    this.#handle.dispose();
  }

  /** Returns its type as text. */
  toString(): string {
    return textOf(this, () => `FFIObject(${this.typeKey})`);
  }
}

/** The text of an object; of a disposed one, that it is. */
export function textOf(object: FFIObject, make: () => string): string {
  return objectHandle(object).isDisposed ? `${object.constructor.name}(disposed)` : make();
}
