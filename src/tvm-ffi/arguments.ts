/**
 * Writes JavaScript values as arguments on the wire. Arguments are borrowed: an object that was made for an argument is
 * released when the call ends.
 */

import { cpu, type DLDevice } from '../device.js';
import { ArgumentTypeError, ArgumentValueError } from '../errors.js';
import { takeTensor } from '../from-dlpack.js';
import { wire } from '../native/wire.js';
import { encodeAt } from '../native/wire-bytes.js';
import { Wire, WireHeader } from '../native/wire-layout.js';
import { adaptArgument } from '../protocol/adapters.js';
import { DLPACK, DLPACK_DEVICE } from '../protocol/managed.js';
import type { Descriptor } from '../storage/descriptor.js';
import { Tensor } from '../tensor.js';
import { descriptorOf, TensorView } from '../view.js';
import { ANY_WORDS, bytesAt, payloadAt, Type, typeAt, writeAny, writeWireAddress } from './any.js';
import { containerOf, writeContainer } from './containers.js';
import { describeLater, markImported } from './described-tensors.js';
import { makeError, takeRaised } from './errors.js';
import { hostTypeOf, type JavaScriptFunction, makeCallback, makeOpaque, nativeObjectOf } from './host-objects.js';
import { ffi } from './library.js';
import {
  callState,
  keepForCall,
  type Referenced,
  releaseTemporaries,
  rememberObject,
  standIns,
  TemporaryObject,
} from './objects.js';
import { enter } from './slot.js';
import { useOnStream } from './streams.js';
import { tensorObject } from './tensor-object.js';
import {
  DataType,
  DeviceValue,
  FFIObject,
  handleOf,
  Opaque,
  OpaquePointer,
  RValue,
  TVM_FFI_OBJECT,
  TVM_FFI_VALUE,
} from './values.js';
import { ObjectRequest, ValueRequest } from './wire-layout.js';

const { f64, i64, u64, i32, u32, u8 } = wire;
// Constants of this module, because V8 tests `instanceof` faster for a class that it knows to be constant.
const OwnTensor = Tensor;
const View = TensorView;
const readDescriptor = descriptorOf;

/**
 * Writes one argument. `mayDescribe`: the argument may be a tensor that the caller describes right before the call. Returns
 * true if it is.
 */
export function writeArgument(at: number, value: unknown, mayDescribe = false): boolean {
  switch (typeof value) {
    case 'object':
      if (value instanceof View) {
        const isView = !(value instanceof OwnTensor); // before the descriptor is read: a prototype can be a proxy
        return writeTensor(at, readDescriptor(value), mayDescribe, isView);
      }
      if (value !== null) return writeObject(at, value, mayDescribe);
      writeAny(at, Type.none, 0);
      return false;
    case 'number':
      writeNumber(at, value);
      return false;
    case 'string':
      writeString(at, value);
      return false;
    case 'boolean': {
      writeAny(at, Type.bool, 0);
      i32[typeAt(at) + 2] = value ? 1 : 0;
      return false;
    }
    case 'undefined':
      writeAny(at, Type.none, 0);
      return false;
    case 'bigint':
      writeBigInt(at, value);
      return false;
    case 'function':
      writeFunction(at, value as JavaScriptFunction);
      return false;
    default:
      throw new ArgumentTypeError('an argument', 'a value with a type in TVM-FFI', value);
  }
}

/** Writes an owning tensor, which callees that take a view accept, too, or a view. JavaScript memory can only be a view. */
function writeTensor(at: number, descriptor: Descriptor, mayDescribe: boolean, isView: boolean): boolean {
  if (descriptor.device !== cpu) noteDevice(descriptor);
  else if (mayDescribe && descriptor.tvmObject === null && describeLater(at, descriptor, isView)) return true;
  const object = tensorObject(descriptor);
  if (object.isOwning && !isView) writeAny(at, Type.tensor, object.pointer);
  else writeAny(at, Type.tensorView, object.view);
  return false;
}

/** The first device other than the host determines the stream of the call. */
function noteDevice(descriptor: Descriptor): void {
  const { device } = descriptor;
  useOnStream(descriptor);
  callState.isUsed = true;
  callState.device ??= device;
}

function writeNumber(at: number, value: number): void {
  const half = typeAt(at);
  i32[half + 1] = 0;
  if (Number.isSafeInteger(value) && !Object.is(value, -0)) {
    i32[half] = Type.int;
    i32[half + 2] = value;
    i32[half + 3] = Math.floor(value / 2 ** 32);
  } else {
    i32[half] = Type.float;
    f64[payloadAt(at)] = value;
  }
}

function writeBigInt(at: number, value: bigint): void {
  if (BigInt.asIntN(64, value) !== value) {
    throw new ArgumentValueError('an integer argument', 'a value within 64 signed bits', value);
  }
  writeAny(at, Type.int, 0);
  i64[payloadAt(at)] = value;
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
    const start = bytesAt(at);
    let i = 0;
    for (; i < length; i++) {
      const code = value.charCodeAt(i);
      if (code > 0x7f) break;
      u8[start + i] = code;
    }
    if (i === length) {
      i32[typeAt(at) + 1] = length;
      return;
    }
  }
  const room = 3 * length + 1;
  if (room > MAX_TEXT || (u32[WireHeader.TOP] as number) > TEXT_LIMIT || value.includes('\0')) {
    makeTemporary(at, () => ffi.makeString(value));
    return;
  }
  const start = enter(((room + 15) >> 4) * 2) * 8;
  u8[start + writeText(value, start, room)] = 0;
  i32[typeAt(at)] = Type.rawString;
  i32[typeAt(at) + 1] = 0;
  writeWireAddress(at, start);
}

/** Writes a string as UTF-8 at a byte of the wire and returns its length. The encoder pays only for long strings. */
function writeText(value: string, start: number, room: number): number {
  const { length } = value;
  for (let i = 0; i < length && length <= 64; i++) {
    const code = value.charCodeAt(i);
    if (code > 0x7f) break;
    u8[start + i] = code;
    if (i === length - 1) return length;
  }
  return encodeAt(start, room, value);
}

/** Makes an object as the value at a word. Its reference is released after the call. */
function makeTemporary(at: number, make: () => void): void {
  const request = enter(ValueRequest.WORDS);
  u32[request * 2 + ValueRequest.VALUE] = at;
  u32[WireHeader.SLOT] = request;
  make();
  if (i32[request * 2 + ValueRequest.STATUS] !== 0) throw takeRaised();
  if ((i32[typeAt(at)] as number) < Type.object) return;
  keepForCall(new TemporaryObject(u32[request * 2 + ValueRequest.REFERENCE] as number));
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
  if (isObject(substitute)) keepForCall({ release: () => void substitute });
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
    u64[payloadAt(at)] = plain.bits;
    return;
  }
  if (typeof address !== 'bigint' || address < 4096n || BigInt.asUintN(64, address) !== address) {
    throw new ArgumentTypeError('the result of [Symbol.for("tvm_ffi.object")]()', 'the address of an object', address);
  }
  const request = enter(ObjectRequest.WORDS);
  u64[request + ObjectRequest.OBJECT] = address;
  u32[WireHeader.SLOT] = request;
  ffi.retainObject();
  if (i32[request * 2 + ObjectRequest.STATUS] !== 0) throw takeRaised();
  writeAny(at, i32[request * 2 + ObjectRequest.TYPE] as number, f64[request + ObjectRequest.OBJECT] as number);
  keepForCall(new TemporaryObject(u32[request * 2 + ObjectRequest.REFERENCE] as number));
}

function writeFunction(at: number, value: JavaScriptFunction): void {
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

function writeObject(at: number, value: object, mayDescribe: boolean): boolean {
  if (Array.isArray(value)) {
    writeContainer(at, { type: Type.array, values: value }, writeArgument);
    return false;
  }
  // Next, because reading a property of a module's proxy would look up a function.
  const handle = standIns.get(value);
  if (handle !== undefined) writeAny(at, handle.type, handle.pointer);
  else if (value instanceof Uint8Array) makeTemporary(at, () => ffi.makeBytes(value));
  else if (value instanceof FFIObject) writeHandle(at, value);
  else if (isProducer(value)) return writeImported(at, takeTensor(value), mayDescribe);
  else if (value instanceof DataType) {
    writeAny(at, Type.dtype, 0);
    u32[typeAt(at) + 2] = value.code | (value.bits << 8) | (value.lanes << 16);
  } else if (value instanceof DeviceValue) writeDevice(at, value);
  else if (value instanceof OpaquePointer) {
    writeAny(at, Type.opaquePointer, 0);
    u64[payloadAt(at)] = value.address;
  } else if (value instanceof RValue) writeRValue(at, value.value);
  else if (value instanceof Opaque) writeMade(at, Type.object, makeOpaque(value.value));
  else if (value instanceof Error) writeMade(at, Type.error, makeError(value));
  else if (hasMethod(value, TVM_FFI_OBJECT)) writeObjectAt(at, value[TVM_FFI_OBJECT]());
  else if (hasMethod(value, TVM_FFI_VALUE)) writeSubstitute(at, value);
  else if (hasMethod(value, DLPACK_DEVICE)) writeDevice(at, new DeviceValue(value[DLPACK_DEVICE]() as DLDevice));
  else return writePlain(at, value, mayDescribe);
  return false;
}

/** Writes an object of a library that has a registered adapter, a container, or an object of a registered type. */
function writePlain(at: number, value: object, mayDescribe: boolean): boolean {
  const adapted = adaptArgument(value);
  if (adapted !== null) return writeImported(at, adapted, mayDescribe);
  const container = containerOf(value);
  if (container !== null) {
    writeContainer(at, container, writeArgument);
    return false;
  }
  const type = hostTypeOf(value);
  if (type !== undefined) {
    writeMade(at, type.type, nativeObjectOf(value, type));
    return false;
  }
  throw new ArgumentTypeError(
    'an argument',
    'a Tensor (Tensor.wrap of a typed array), number, bigint, boolean, string, Uint8Array, function, array, Map, plain object or a value of this module, such as new Opaque(value)',
    value,
  );
}

function writeDevice(at: number, { type, id }: DeviceValue): void {
  writeAny(at, Type.device, 0);
  i32[typeAt(at) + 2] = type;
  i32[typeAt(at) + 3] = id;
}

function hasMethod<K extends symbol | string>(value: object, name: K): value is { [name in K]: () => unknown } {
  return typeof (value as { [name in K]?: unknown })[name] === 'function';
}

function isProducer(value: { [DLPACK]?: unknown; __dlpack__?: unknown }): boolean {
  return typeof value[DLPACK] === 'function' || typeof value.__dlpack__ === 'function';
}

/** Writes a tensor of another library, which was imported for the duration of the call. */
function writeImported(at: number, descriptor: Descriptor, mayDescribe: boolean): boolean {
  const index = callState.temporaries.length;
  keepForCall(descriptor);
  const isDescribed = writeTensor(at, descriptor, mayDescribe, false);
  if (isDescribed) markImported(at, index);
  return isDescribed;
}

function writeHandle(at: number, value: FFIObject): void {
  const handle = handleOf(value);
  if (!handle.isKnown) rememberObject(handle, value);
  writeAny(at, handle.type, handle.pointer);
}

/** Writes an object that the callee may take over. The argument points to a value above it with its own reference. */
function writeRValue(at: number, value: unknown): void {
  const cell = enter(ANY_WORDS);
  const mark = callState.temporaries.length;
  writeArgument(cell, value);
  if ((i32[typeAt(cell)] as number) < Type.object) throw new ArgumentTypeError('an RValue', 'an object', value);
  countReference(cell, true);
  const release = () => {
    if (f64[payloadAt(cell)] !== 0) countReference(cell, false);
  };
  try {
    releaseTemporaries(mark); // the callee alone owns these objects
  } finally {
    keepForCall({ release });
  }
  writeAny(at, Type.rvalue, 0);
  writeWireAddress(at, bytesAt(cell));
}

/** Adds or drops a reference to the object of the value at a word. */
function countReference(at: number, isMore: boolean): void {
  const request = enter(ValueRequest.WORDS);
  u32[request * 2 + ValueRequest.VALUE] = at;
  u32[WireHeader.SLOT] = request;
  if (isMore) ffi.retain();
  else ffi.drop();
}

/** Writes an object that was made for the call, with the reference that the end of the call releases. */
function writeMade(at: number, type: number, { pointer, reference }: Referenced): void {
  writeAny(at, type, pointer);
  keepForCall(new TemporaryObject(reference));
}
