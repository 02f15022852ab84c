/**
 * Writes JavaScript values as arguments on the wire. Arguments are borrowed: an object that was made for an argument is
 * released when the call ends.
 */

import type { DLDevice } from '../../device.js';
import { ArgumentTypeError } from '../../errors.js';
import { takeSource } from '../../from-dlpack.js';
import { enterBytes, writeText } from '../../native/wire/bytes.js';
import { Wire } from '../../native/wire/constants.js';
import { enter } from '../../native/wire/wire.js';
import { WireHeader } from '../../native/wire/wire-layout.js';
import { adaptArgument } from '../../protocol/adapters.js';
import { DLPACK, DLPACK_DEVICE } from '../../protocol/managed.js';
import type { Descriptor } from '../../storage/descriptor.js';
import { Tensor } from '../../tensor.js';
import { descriptorOf, TensorView } from '../../view.js';
import type { Referenced } from '../binding.js';
import { HeldReference, HeldValue, hold, releaseHeld, running } from '../calls/held.js';
import { ffi } from '../library.js';
import { makeError, orRaised, takeRaised } from '../objects/errors.js';
import { type FFICallback, hostTypeOf, makeCallback, makeOpaque, nativeObjectOf } from '../objects/host-objects.js';
import { rememberObject, standIns } from '../objects/objects.js';
import { Any, WireType } from '../wire-layout.js';
import { Type, writeAny, writeWireAddress } from './any.js';
import { containerOf, writeContainer } from './containers.js';
import { writeTensorArgument } from './tensor-arguments.js';
import {
  DataType,
  DeviceValue,
  FFIObject,
  Opaque,
  OpaquePointer,
  objectHandle,
  RValue,
  TVM_FFI_OBJECT,
  TVM_FFI_VALUE,
  UNCHANGED,
} from './values.js';

/** Writes one argument, and holds it until the call ends. */
export function writeArgument(at: number, value: unknown): void {
  if (value instanceof Tensor) writeTensorArgument(at, descriptorOf(value), false);
  else if (typeof value === 'number') writeNumber(at, value);
  else if (value === undefined || value === null) writeAny(at, Type.none, 0);
  else writeOther(at, value);
}

function writeOther(at: number, value: NonNullable<unknown>): void {
  if (typeof value === 'string') writeString(at, value);
  else if (typeof value === 'boolean') {
    writeAny(at, Type.bool, 0);
    Any.setLow(at, value ? 1 : 0);
  } else if (typeof value === 'bigint') writeBigInt(at, value);
  else if (typeof value === 'function') writeFunction(at, value as FFICallback);
  else if (value instanceof TensorView) writeTensorArgument(at, descriptorOf(value), true);
  else if (value === UNCHANGED) writeAny(at, Type.unchanged, 0);
  else if (typeof value === 'object') writeObject(at, value);
  else throw new ArgumentTypeError('an argument', 'a value with a type in TVM-FFI', value);
}

function writeNumber(at: number, value: number): void {
  Any.setLength(at, 0);
  if (Number.isSafeInteger(value) && !Object.is(value, -0)) {
    Any.setType(at, Type.int);
    Any.setLow(at, value);
    Any.setHigh(at, Math.floor(value / 2 ** 32));
  } else {
    Any.setType(at, Type.float);
    Any.setPayload(at, value);
  }
}

function writeBigInt(at: number, value: bigint): void {
  if (BigInt.asIntN(64, value) !== value) {
    holdMade(ffi.makeBigInt(at, value));
    return;
  }
  writeAny(at, Type.int, 0);
  Any.setInteger(at, value);
}

const SMALL = 7;
/** The longest string on the wire in bytes, and the word up to which strings are put there. */
const MAX_TEXT = 4096;
const TEXT_LIMIT = Wire.WORDS / 2;

/**
 * Up to seven bytes fit into the value. Longer strings go on the wire above the call. The longest, and strings with
 * zeros, become objects.
 */
function writeString(at: number, value: string): void {
  const { length } = value;
  if (length <= SMALL) {
    writeAny(at, Type.smallString, 0);
    let i = 0;
    for (; i < length; i++) {
      const code = value.charCodeAt(i);
      if (code > 0x7f) break;
      Any.setBytes(at, i, code);
    }
    if (i === length) {
      Any.setLength(at, length);
      return;
    }
  }
  const room = 3 * length + 1;
  if (room > MAX_TEXT || WireHeader.top() > TEXT_LIMIT || value.includes('\0')) {
    holdMade(ffi.makeString(at, value));
    return;
  }
  const start = enterBytes(room);
  writeText(start, room, value);
  Any.setType(at, Type.rawString);
  Any.setLength(at, 0);
  writeWireAddress(at, start);
}

/** Keeps an object that native code made for a value until the call ends. The number 0: the value is not an object. */
function holdMade(reference: number | undefined): void {
  const made = orRaised(reference);
  if (made !== 0) hold(new HeldReference(made));
}

/** The most objects that stand for each other in turn. */
const MOST_SUBSTITUTES = 100;

/** Writes the value that an object's method returns in its place. That value may have such a method, too. */
function writeSubstitute(at: number, value: { [TVM_FFI_VALUE](): unknown }): void {
  let substitute = value[TVM_FFI_VALUE]();
  for (let i = 1; isObject(substitute) && !standIns.has(substitute) && hasMethod(substitute, TVM_FFI_VALUE); i++) {
    if (i === MOST_SUBSTITUTES) {
      const expected = `a value without that method after at most ${MOST_SUBSTITUTES} calls`;
      throw new ArgumentTypeError('the result of [Symbol.for("tvm_ffi.value")]()', expected, value);
    }
    substitute = substitute[TVM_FFI_VALUE]();
  }
  writeArgument(at, substitute);
  // The substitute may be the only reference to the object that the argument points to.
  if (isObject(substitute)) hold({ release: () => void substitute });
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

/** A value that needs no object, which a Python number or dtype becomes. */
interface PlainValue {
  readonly type: number;
  readonly bits: bigint;
}

const plainTypes: readonly number[] = [Type.float, Type.opaquePointer, Type.dtype, Type.device];

/** Reads each field once, because getters may return different values. Null for an object with other fields. */
function plainValueOf(value: unknown): PlainValue | null {
  if (!isObject(value)) return null;
  const { type = -1, bits } = value as Partial<PlainValue>;
  const isPlain = plainTypes.includes(type) && typeof bits === 'bigint' && BigInt.asUintN(64, bits) === bits;
  return isPlain ? { type, bits } : null;
}

/** Writes a native object at an address. The owner keeps it alive until the call has its own reference. */
function writeObjectAt(at: number, address: unknown): void {
  const plain = plainValueOf(address);
  if (plain !== null) {
    writeAny(at, plain.type, 0);
    Any.setBits(at, plain.bits);
    return;
  }
  if (typeof address !== 'bigint' || address < 4096n || BigInt.asUintN(64, address) !== address) {
    throw new ArgumentTypeError('the result of [Symbol.for("tvm_ffi.object")]()', 'the address of an object', address);
  }
  Any.setBits(at, address);
  holdMade(ffi.readObject(at));
}

function writeFunction(at: number, value: FFICallback): void {
  const handle = standIns.get(value);
  if (handle !== undefined) {
    writeAny(at, Type.function, handle.pointer);
    return;
  }
  // Python objects are callable.
  if (hasMethod(value, TVM_FFI_VALUE)) {
    writeSubstitute(at, value);
    return;
  }
  writeMade(at, Type.function, makeCallback(value));
}

function writeObject(at: number, value: object): void {
  if (Array.isArray(value)) {
    writeContainer(at, { type: Type.array, values: value }, writeArgument);
    return;
  }
  // Next, because reading a property of a module's proxy would look up a function.
  const handle = standIns.get(value);
  if (handle !== undefined) writeAny(at, handle.type, handle.pointer);
  else if (value instanceof Uint8Array) holdMade(ffi.makeBytes(at, value));
  else if (value instanceof FFIObject) writeHandle(at, value);
  else if (isProducer(value)) writeImported(at, takeSource(value));
  else if (value instanceof DataType) {
    writeAny(at, Type.dtype, 0);
    Any.setLow(at, value.code | (value.bits << 8) | (value.lanes << 16));
  } else if (value instanceof DeviceValue) writeDevice(at, value);
  else if (value instanceof OpaquePointer) {
    writeAny(at, Type.opaquePointer, 0);
    Any.setBits(at, value.address);
  } else if (value instanceof RValue) writeRValue(at, value.value);
  else if (value instanceof Opaque) writeMade(at, Type.object, makeOpaque(value.value));
  else if (value instanceof Error) writeMade(at, Type.error, makeError(value));
  else if (hasMethod(value, TVM_FFI_OBJECT)) writeObjectAt(at, value[TVM_FFI_OBJECT]());
  else if (hasMethod(value, TVM_FFI_VALUE)) writeSubstitute(at, value);
  else if (hasMethod(value, DLPACK_DEVICE)) writeDevice(at, new DeviceValue(value[DLPACK_DEVICE]() as DLDevice));
  else writePlain(at, value);
}

/** Writes an object of a library that has a registered adapter, a container, or an object of a registered type. */
function writePlain(at: number, value: object): void {
  const adapted = adaptArgument(value);
  const container = adapted === null ? containerOf(value) : null;
  const type = adapted === null && container === null ? hostTypeOf(value) : undefined;
  if (adapted !== null) writeImported(at, adapted);
  else if (container !== null) writeContainer(at, container, writeArgument);
  else if (type !== undefined) writeMade(at, type.type, nativeObjectOf(value, type));
  else {
    throw new ArgumentTypeError(
      'an argument',
      'a Tensor (Tensor.wrap of a typed array), number, bigint, boolean, string, Uint8Array, function, array, Map, plain object or a value of this module, such as new Opaque(value)',
      value,
    );
  }
}

function writeDevice(at: number, { type, id }: DeviceValue): void {
  writeAny(at, Type.device, 0);
  Any.setDeviceType(at, type);
  Any.setDeviceId(at, id);
}

function hasMethod<K extends symbol | string>(value: object, name: K): value is { [name in K]: () => unknown } {
  return typeof (value as { [name in K]?: unknown })[name] === 'function';
}

function isProducer(value: { [DLPACK]?: unknown; __dlpack__?: unknown }): boolean {
  return typeof value[DLPACK] === 'function' || typeof value.__dlpack__ === 'function';
}

/** Writes a tensor of another library, which was imported for the call. */
function writeImported(at: number, descriptor: Descriptor): void {
  hold(descriptor);
  writeTensorArgument(at, descriptor, false);
}

function writeHandle(at: number, value: FFIObject): void {
  const handle = objectHandle(value);
  if (!handle.isKnown) rememberObject(handle, value);
  writeAny(at, handle.type, handle.pointer);
}

/** Writes an object that the callee may take over. The argument points to a value above it with its own reference. */
function writeRValue(at: number, value: unknown): void {
  const cell = enter(Any.WORDS);
  const mark = running.held.length;
  writeArgument(cell, value);
  const type = Any.type(cell);
  if (type < Type.object && type !== WireType.tensor) throw new ArgumentTypeError('an RValue', 'an object', value);
  if (!ffi.retain(cell)) throw takeRaised();
  try {
    releaseHeld(mark); // the callee alone owns these objects
  } finally {
    hold(new HeldValue(cell));
  }
  writeAny(at, Type.rvalue, 0);
  writeWireAddress(at, Any.bytesAt(cell));
}

/** Writes an object that was made for the call, with the reference that the end of the call releases. */
function writeMade(at: number, type: number, [pointer, reference]: Referenced): void {
  writeAny(at, type, pointer);
  hold(new HeldReference(reference));
}
