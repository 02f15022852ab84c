/**
 * JavaScript values into the slots of the call frame. Arguments are borrowed: an object made for one is released
 * when the call ends.
 *
 * @module
 */

import { cpu } from '../device.js';
import { ArgumentTypeError, ArgumentValueError } from '../errors.js';
import { fromDLPack } from '../from-dlpack.js';
import { DLPACK } from '../protocol/managed.js';
import type { Descriptor } from '../storage/descriptor.js';
import { Tensor } from '../tensor.js';
import { descriptorOf, TensorView } from '../view.js';
import { frame, writeFrameAddress } from './call-frame.js';
import { type JavaScriptFunction, makeCallback } from './callbacks.js';
import { containerOf, frameIsFull, writeContainer } from './containers.js';
import { makeError, takeRaised } from './errors.js';
import { ffi } from './library.js';
import { callState, keepForCall, releaseTemporaries, standIns, TemporaryObject } from './objects.js';
import { useOnStream } from './streams.js';
import { tensorObject } from './tensor-object.js';
import {
  DataType,
  DeviceValue,
  FFIObject,
  handleOf,
  OpaquePointer,
  RValue,
  TVM_FFI_OBJECT,
  TVM_FFI_VALUE,
} from './values.js';

// Constants of this module, for the reason that call-frame.ts gives.
const { f64, i64, u64, i32, u32, u8, text, OBJECT, STATUS, TOP, COUNT, SLOT, SLOTS, TEXT_START } = frame;
const { Type, typeAt, payloadAt, bytesAt, writeSlot } = frame;

/** Writes one argument. */
export function writeArgument(slot: number, value: unknown): void {
  switch (typeof value) {
    case 'object':
      if (value instanceof Tensor) writeTensor(slot, value);
      else if (value === null) writeSlot(slot, Type.none, 0);
      else writeObject(slot, value);
      return;
    case 'number':
      writeNumber(slot, value);
      return;
    case 'string':
      writeString(slot, value);
      return;
    case 'boolean': {
      writeSlot(slot, Type.bool, 0);
      i32[typeAt(slot) + 2] = value ? 1 : 0;
      return;
    }
    case 'undefined':
      writeSlot(slot, Type.none, 0);
      return;
    case 'bigint':
      writeBigInt(slot, value);
      return;
    case 'function':
      writeFunction(slot, value as JavaScriptFunction);
      return;
    default:
      throw new ArgumentTypeError('an argument', 'a value with a type in TVM-FFI', value);
  }
}

/** An owning tensor, which callees that take a view accept too. Memory that JavaScript owns can only be viewed. */
function writeTensor(slot: number, tensor: Tensor): void {
  const descriptor = descriptorOf(tensor);
  if (descriptor.device !== cpu) noteDevice(descriptor);
  const object = tensorObject(descriptor);
  if (object.isOwning) writeSlot(slot, Type.tensor, object.pointer);
  else writeSlot(slot, Type.tensorView, object.view);
}

function writeView(slot: number, view: TensorView): void {
  const descriptor = descriptorOf(view);
  if (descriptor.device !== cpu) noteDevice(descriptor);
  writeSlot(slot, Type.tensorView, tensorObject(descriptor).view);
}

/** The first device other than the host sets the stream of the call. */
function noteDevice(descriptor: Descriptor): void {
  const { device } = descriptor;
  useOnStream(descriptor);
  callState.isUsed = true;
  callState.device ??= device;
}

function writeNumber(slot: number, value: number): void {
  const at = typeAt(slot);
  i32[at + 1] = 0;
  if (Number.isSafeInteger(value) && !Object.is(value, -0)) {
    i32[at] = Type.int;
    i32[at + 2] = value;
    i32[at + 3] = Math.floor(value / 2 ** 32);
  } else {
    i32[at] = Type.float;
    f64[payloadAt(slot)] = value;
  }
}

function writeBigInt(slot: number, value: bigint): void {
  if (BigInt.asIntN(64, value) !== value) {
    throw new ArgumentValueError('an integer argument', 'a value within 64 signed bits', value);
  }
  writeSlot(slot, Type.int, 0);
  i64[payloadAt(slot)] = value;
}

const SMALL = 7;
const encoder = new TextEncoder();

/** Up to seven bytes travel in the slot; more in the text of the frame; the rest, and strings with zeros, as objects. */
function writeString(slot: number, value: string): void {
  const { length } = value;
  if (length <= SMALL) {
    writeSlot(slot, Type.smallString, 0);
    const start = bytesAt(slot);
    let i = 0;
    for (; i < length; i++) {
      const code = value.charCodeAt(i);
      if (code > 0x7f) break;
      u8[start + i] = code;
    }
    if (i === length) {
      i32[typeAt(slot) + 1] = length;
      return;
    }
  }
  const start = callState.text;
  if (start + 3 * length + 1 > text.length || value.includes('\0')) {
    u32[SLOT] = slot;
    ffi.makeString(value);
    keepTemporary(slot);
    return;
  }
  const end = start + writeText(value, start);
  text[end] = 0;
  callState.isUsed = true;
  callState.text = end + 1;
  i32[typeAt(slot)] = Type.rawString;
  i32[typeAt(slot) + 1] = 0;
  writeFrameAddress(slot, TEXT_START + start);
}

/** The UTF-8 of a string at `start`; returns its length. The encoder is worth its call for long strings only. */
function writeText(value: string, start: number): number {
  const { length } = value;
  for (let i = 0; i < length && length <= 64; i++) {
    const code = value.charCodeAt(i);
    if (code > 0x7f) break;
    text[start + i] = code;
    if (i === length - 1) return length;
  }
  return encoder.encodeInto(value, text.subarray(start)).written;
}

/** The request that just ended made an object for the slot. Its reference is released after the call. */
function keepTemporary(slot: number): void {
  if (i32[STATUS] !== 0) throw takeRaised();
  if ((i32[typeAt(slot)] as number) >= Type.object) keepForCall(new TemporaryObject(u32[SLOT] as number));
}

/** The value that stands for an object: what its method returns, which may not stand for a third one. */
function writeSubstitute(slot: number, value: { [TVM_FFI_VALUE](): unknown }): void {
  const substitute = value[TVM_FFI_VALUE]();
  const isObject = (typeof substitute === 'object' && substitute !== null) || typeof substitute === 'function';
  if (isObject && !standIns.has(substitute) && hasMethod(substitute, TVM_FFI_VALUE)) {
    throw new ArgumentTypeError('the result of [Symbol.for("tvm_ffi.value")]()', 'a value without that method', value);
  }
  writeArgument(slot, substitute);
  // The substitute may be the only reference to what the slot points to.
  if (isObject) keepForCall({ release: () => void substitute });
}

/** A native object at an address, which its owner keeps alive until the call has a reference of its own. */
function writeObjectAt(slot: number, address: unknown): void {
  if (typeof address !== 'bigint' || address < 4096n || BigInt.asUintN(64, address) !== address) {
    throw new ArgumentTypeError('the result of [Symbol.for("tvm_ffi.object")]()', 'the address of an object', address);
  }
  u64[OBJECT] = address;
  ffi.retainObject();
  const number = u32[SLOT] as number;
  writeSlot(slot, i32[COUNT] as number, f64[OBJECT] as number);
  keepForCall(new TemporaryObject(number));
}

function writeFunction(slot: number, value: JavaScriptFunction): void {
  const handle = standIns.get(value);
  if (handle !== undefined) {
    writeSlot(slot, Type.function, handle.pointer);
    return;
  }
  // Objects of other languages are callable.
  if (hasMethod(value, TVM_FFI_VALUE)) {
    writeSubstitute(slot, value);
    return;
  }
  const pointer = makeCallback(value);
  keepForCall(new TemporaryObject(u32[SLOT] as number));
  writeSlot(slot, Type.function, pointer);
}

function writeObject(slot: number, value: object): void {
  // First, because nothing may be asked of the proxy that stands for a module.
  const handle = standIns.get(value);
  if (handle !== undefined) writeSlot(slot, handle.type, handle.pointer);
  else if (value instanceof TensorView) writeView(slot, value);
  else if (Array.isArray(value)) writeContainer(slot, { type: Type.array, values: value }, writeArgument);
  else if (value instanceof Uint8Array) writeBytes(slot, value);
  else if (value instanceof FFIObject) writeHandle(slot, value);
  else if (value instanceof DataType) {
    writeSlot(slot, Type.dtype, 0);
    u32[typeAt(slot) + 2] = value.code | (value.bits << 8) | (value.lanes << 16);
  } else if (value instanceof DeviceValue) {
    const { type, id } = value;
    writeSlot(slot, Type.device, 0);
    i32[typeAt(slot) + 2] = type;
    i32[typeAt(slot) + 3] = id;
  } else if (value instanceof OpaquePointer) {
    writeSlot(slot, Type.opaquePointer, 0);
    u64[payloadAt(slot)] = value.address;
  } else if (value instanceof RValue) writeRValue(slot, value.value);
  else if (value instanceof Error) writeError(slot, value);
  else if (isProducer(value)) writeProducer(slot, value);
  else if (hasMethod(value, TVM_FFI_OBJECT)) writeObjectAt(slot, value[TVM_FFI_OBJECT]());
  else if (hasMethod(value, TVM_FFI_VALUE)) writeSubstitute(slot, value);
  else {
    const container = containerOf(value);
    if (container !== null) {
      writeContainer(slot, container, writeArgument);
      return;
    }
    throw new ArgumentTypeError(
      'an argument',
      'a Tensor (Tensor.wrap of a typed array), number, bigint, boolean, string, Uint8Array, function, array, Map, plain object or a value of this module',
      value,
    );
  }
}

function hasMethod<K extends symbol | string>(value: object, name: K): value is { [name in K]: () => unknown } {
  return typeof (value as { [name in K]?: unknown })[name] === 'function';
}

function isProducer(value: object): boolean {
  return hasMethod(value, DLPACK) || hasMethod(value, '__dlpack__');
}

/** A tensor of another library, taken in for the length of the call. */
function writeProducer(slot: number, producer: object): void {
  const tensor = fromDLPack(producer);
  keepForCall({ release: () => tensor.dispose() });
  writeTensor(slot, tensor);
}

function writeBytes(slot: number, value: Uint8Array): void {
  u32[SLOT] = slot;
  // A view of the same bytes: subclasses (Buffer) are typed arrays of another name to some runtimes.
  ffi.makeBytes(value);
  keepTemporary(slot);
}

function writeHandle(slot: number, value: FFIObject): void {
  const { pointer, type } = handleOf(value);
  writeSlot(slot, type, pointer);
}

/** An object that the callee may take over: a reference of its own, in a slot above, that the argument points to. */
function writeRValue(slot: number, value: unknown): void {
  const cell = u32[TOP] as number;
  if (cell >= SLOTS) throw frameIsFull();
  u32[TOP] = cell + 1;
  const mark = callState.temporaries.length;
  writeArgument(cell, value);
  if ((i32[typeAt(cell)] as number) < Type.object) throw new ArgumentTypeError('an RValue', 'an object', value);
  u32[SLOT] = cell;
  ffi.retain();
  const release = () => {
    if (f64[payloadAt(cell)] === 0) return;
    u32[SLOT] = cell;
    ffi.drop();
  };
  try {
    releaseTemporaries(mark); // what was made for it is the callee's alone
  } finally {
    keepForCall({ release });
  }
  writeSlot(slot, Type.rvalue, 0);
  writeFrameAddress(slot, bytesAt(cell));
}

function writeError(slot: number, error: Error): void {
  writeSlot(slot, Type.error, makeError(error));
  keepForCall(new TemporaryObject(u32[SLOT] as number));
}
