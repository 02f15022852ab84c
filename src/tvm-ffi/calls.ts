/**
 * Calls of native functions, and their results.
 *
 * @module
 */

import { cpu } from '../device.js';
import { BufferError } from '../errors.js';
import { takePushed } from '../native/import.js';
import { shareDescriptor, Tensor } from '../tensor.js';
import { descriptorOf, TensorView } from '../view.js';
import { writeArgument } from './arguments.js';
import { frame } from './call-frame.js';
import { appendToBatch, frameIsFull, readContainer, readElements } from './containers.js';
import { errorAt, takeRaised } from './errors.js';
import { ffi } from './library.js';
import {
  adoptObject,
  checkLent,
  disown,
  keepForCall,
  leaveCall,
  type ObjectHandle,
  releaseTemporaries,
  callState as sharedState,
  standIns,
  TemporaryObject,
} from './objects.js';
import { writeStream } from './streams.js';
import type { TensorObject } from './tensor-object.js';
import { DataType, DeviceValue, FFIObject, OpaquePointer, Shape } from './values.js';

// Constants of this module, for the reason that call-frame.ts gives.
const { f64, i64, u64, i32, u32, u8, OBJECT, STATUS, TOP, COUNT, BASE, SLOT, SLOTS, FIRST_TYPE, FIRST_PAYLOAD } = frame;
const { TENSOR_BITS, Type, typeAt, payloadAt, bytesAt } = frame;
const OwnTensor = Tensor;
const readDescriptor = descriptorOf;
const host = cpu;
const callState = sharedState;

/** Reading a result takes slots, too. */
const SLOTS_FOR_ARGUMENTS = SLOTS - 256;

/** A native function. */
export type FFIFunction = (...args: unknown[]) => unknown;

/** Calls the function at `pointer`. */
export function invoke(pointer: number, args: readonly unknown[]): unknown {
  return callState.isUsed ? invokeInside(pointer, args, false) : invokeWith(pointer, args, 0, 0, false);
}

/** The same, while no other thread uses the table of global functions. */
export function invokeLocked(pointer: number, args: readonly unknown[]): unknown {
  return invokeInside(pointer, args, true);
}

/** A call inside another one that uses more than its slots: what belongs to that one is left as it is. */
function invokeInside(pointer: number, args: readonly unknown[], locked: boolean): unknown {
  const { text, device } = callState;
  callState.device = null;
  try {
    return invokeWith(pointer, args, callState.temporaries.length, callState.lent.length, locked);
  } finally {
    callState.text = text;
    callState.device = device;
  }
}

function invokeWith(
  pointer: number,
  args: readonly unknown[],
  mark: number,
  lentMark: number,
  locked: boolean,
): unknown {
  const count = args.length;
  const base = u32[TOP] as number;
  const result = base + count;
  if (result > SLOTS_FOR_ARGUMENTS) return invokeWithBatch(pointer, args, mark, lentMark);
  u32[TOP] = result + 1;
  try {
    for (let i = 0; i < count; i++) {
      const value = args[i];
      if (value instanceof OwnTensor) {
        const descriptor = readDescriptor(value);
        const object = descriptor.tvmObject as TensorObject | null;
        if (object?.isOwning === true && descriptor.device === host) {
          const at = FIRST_PAYLOAD + (base + i) * 2;
          f64[at - 1] = TENSOR_BITS;
          f64[at] = object.pointer;
          continue;
        }
      }
      writeArgument(base + i, value);
    }
    if (callState.device !== null) writeStream(callState.device);
    if (callState.isUsed) checkLent(lentMark);
    f64[OBJECT] = pointer;
    u32[BASE] = base;
    i32[COUNT] = count;
    const value = locked ? ffi.callLocked() : ffi.call();
    if (i32[STATUS] !== 0) throw takeRaised();
    const type = i32[FIRST_TYPE + result * 4] as number;
    if (type === Type.none) return undefined;
    return type === Type.tensor ? readTensor(result, args) : readValue(result, value);
  } finally {
    if (callState.isUsed) endCall(base, mark, lentMark);
    else u32[TOP] = base;
  }
}

/** Arguments that do not fit the slots are collected in a batch, which has references of its own. */
export function collectArguments(
  base: number,
  args: readonly unknown[],
  write: (slot: number, value: unknown) => void,
) {
  let batch = 0;
  try {
    for (let start = 0; start < args.length; start += BATCH_CHUNK) {
      const count = Math.min(BATCH_CHUNK, args.length - start);
      for (let i = 0; i < count; i++) write(base + i, args[start + i]);
      batch = appendToBatch(batch, base, count);
    }
    return batch;
  } catch (error) {
    if (batch !== 0) disown(batch);
    throw error;
  }
}

const BATCH_CHUNK = 64;

/** Takes slots for a chunk of a batch. */
export function reserveForBatch(): number {
  const base = u32[TOP] as number;
  if (base + BATCH_CHUNK >= SLOTS) throw frameIsFull();
  u32[TOP] = base + BATCH_CHUNK;
  callState.isUsed = true;
  return base;
}

function invokeWithBatch(pointer: number, args: readonly unknown[], mark: number, lentMark: number): unknown {
  const base = reserveForBatch();
  try {
    const batch = collectArguments(base, args, writeArgument);
    keepForCall(new TemporaryObject(batch));
    if (callState.device !== null) writeStream(callState.device);
    checkLent(lentMark);
    f64[OBJECT] = pointer;
    u32[BASE] = base;
    u32[SLOT] = batch;
    const value = ffi.callWithBatch();
    if (i32[STATUS] !== 0) throw takeRaised();
    return i32[typeAt(base)] === Type.tensor ? readTensor(base, args) : readValue(base, value);
  } finally {
    endCall(base, mark, lentMark);
  }
}

/** Releases what a call used. */
export function endCall(base: number, mark: number, lentMark: number): void {
  const { lent, temporaries } = callState;
  for (let i = lent.length; i > lentMark; i--) lent.pop(); // cheaper than a length
  try {
    if (temporaries.length > mark) releaseTemporaries(mark);
  } finally {
    leaveCall(base);
  }
}

/** A tensor that a call returned: one more owner of an argument when it is one, else what native code pushed onto the wire. */
function readTensor(slot: number, args: readonly unknown[]): Tensor {
  const place = u32[SLOT] as number;
  if (place === 0) return readValue(slot, undefined) as Tensor;
  const argument = args[place - 1];
  if (argument instanceof OwnTensor && !argument.isDisposed) return shareDescriptor(readDescriptor(argument));
  // Disposed by a callback, or made for the call only: its native object lives until the call is over.
  return takeValue(slot) as Tensor;
}

/** The JavaScript function that stands for a native one. */
export function wrapFunction(handle: ObjectHandle): FFIFunction {
  const { pointer } = handle;
  const call = (...args: unknown[]): unknown => invoke(pointer, args);
  // Keeps the handle as long as the function.
  standIns.set(call, handle);
  return call;
}

/** The value of a slot that somebody else keeps alive. */
export function takeValue(slot: number): unknown {
  const type = i32[typeAt(slot)] as number;
  if (type < Type.tensorView || type === Type.smallString || type === Type.smallBytes)
    return readValue(slot, undefined);
  u32[SLOT] = slot;
  const taken = ffi.take();
  return type === Type.tensorView ? borrowedView() : readValue(slot, taken);
}

/** The value of a slot whose contents, if it has any, were taken: `taken`, or a tensor on the wire. */
function readValue(slot: number, taken: unknown): unknown {
  const at = typeAt(slot);
  switch (i32[at]) {
    case Type.none:
      return undefined;
    case Type.int: {
      const high = i32[at + 3] as number;
      const value = high * 2 ** 32 + (u32[at + 2] as number);
      return Number.isSafeInteger(value) ? value : i64[payloadAt(slot)];
    }
    case Type.bool:
      return i32[at + 2] !== 0;
    case Type.float:
      return f64[payloadAt(slot)];
    case Type.smallString:
      return readSmallString(slot, i32[at + 1] as number);
    case Type.smallBytes:
      return u8.slice(bytesAt(slot), bytesAt(slot) + (i32[at + 1] as number));
    case Type.string:
    case Type.bytes:
    case Type.rawString:
    case Type.byteArray:
      return taken;
    case Type.tensor:
      return new Tensor(takePushed());
    case Type.tensorView:
      throw new BufferError(
        'Expected a Tensor as result but received a DLTensor*, whose memory nothing keeps alive after the call; ' +
          'pass memory that native code may keep (Tensor.from, Tensor.adopt) to functions that return their argument',
      );
    case Type.dtype: {
      const packed = u32[at + 2] as number;
      return new DataType({ code: packed & 0xff, bits: (packed >> 8) & 0xff, lanes: packed >>> 16 });
    }
    case Type.device:
      return new DeviceValue({ type: i32[at + 2] as number, id: i32[at + 3] as number });
    case Type.opaquePointer:
      return new OpaquePointer(u64[payloadAt(slot)] as bigint);
    default:
      return readObject(i32[at] as number, f64[payloadAt(slot)] as number);
  }
}

const decoder = new TextDecoder();

function readSmallString(slot: number, length: number): string {
  const start = bytesAt(slot);
  let value = '';
  for (let i = 0; i < length; i++) {
    const code = u8[start + i] as number;
    if (code > 0x7f) return decoder.decode(u8.subarray(start, start + length));
    value += String.fromCharCode(code);
  }
  return value;
}

/** A view that native code lends for the length of a callback. */
function borrowedView(): TensorView {
  const descriptor = takePushed();
  keepForCall(descriptor.storage);
  return new TensorView(descriptor);
}

/** An object whose reference is in SLOT. */
function readObject(type: number, pointer: number): unknown {
  switch (type) {
    case Type.error:
      return errorAt(pointer);
    case Type.function:
      return wrapFunction(adoptObject(pointer, type));
    case Type.shape:
      return readShape(pointer);
    case Type.array:
    case Type.list:
    case Type.map:
    case Type.dict:
      return readContainer(pointer, type, u32[SLOT] as number, takeValue);
    default:
      return new FFIObject(adoptObject(pointer, type));
  }
}

function readShape(pointer: number): Shape {
  const number = u32[SLOT] as number;
  const dims: unknown[] = [];
  try {
    readElements(pointer, dims, takeValue);
  } finally {
    disown(number);
  }
  return new Shape(dims as number[]);
}

/** The values of all slots. */
export function takeValues(base: number, count: number, values: unknown[]): void {
  for (let i = 0; i < count; i++) values.push(takeValue(base + i));
}
