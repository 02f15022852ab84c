/** Calls whose arguments are a few tensors, as those of most kernels are. */

import { cpu } from '../device.js';
import { wire } from '../native/wire.js';
import { Wire, WireHeader } from '../native/wire-layout.js';
import type { Descriptor } from '../storage/descriptor.js';
import { Tensor } from '../tensor.js';
import { descriptorOf, rawDescriptorOf } from '../view.js';
import { ANY_WORDS, TENSOR_BITS, Type, writeAny } from './any.js';
import { describeAll, describeLater, errorOfCall, keepResult } from './described-tensors.js';
import { ffi } from './library.js';
import { callState, checkLent, endCall } from './objects.js';
import { type TensorObject, tensorObject } from './tensor-object.js';
import { CallRequest } from './wire-layout.js';

const { f64, i32, u32 } = wire;
// Constants of this module, because an import from another chunk of dist costs a load and a check at each use.
const OwnTensor = Tensor;
const readDescriptor = descriptorOf;
const readRaw = rawDescriptorOf;

/** The most arguments that a call of this module can have. */
const FEW_ARGUMENTS = 3;
export const FIRST_ARGUMENT = Wire.FIRST_SLOT + CallRequest.WORDS;
export const STATUS_OF_FIRST = Wire.FIRST_SLOT * 2 + CallRequest.STATUS;
/** The result of a call that was not made. */
export const UNUSUAL = Symbol('unusual');

/** `value` is what the native function returned. */
type ReadResult = (args: readonly unknown[], value: unknown) => unknown;

/** The object of a tensor whose address is all that a call needs; null for a tensor without such an object. */
export function plainObjectOf(descriptor: Descriptor): TensorObject | null {
  const object = descriptor.tvmObject as TensorObject | null;
  if (object === null) return null;
  return object.isPlain ? object : null;
}

/** The first argument, if it is a tensor and there are few arguments; otherwise null. */
export function firstOf(args: readonly unknown[]): Descriptor | null {
  const { length } = args;
  if (length === 0 || length > FEW_ARGUMENTS) return null;
  const value = args[0];
  return value instanceof OwnTensor ? readDescriptor(value) : null;
}

/**
 * A call with one to three arguments, all of them tensors that have objects, outside of other calls. Returns UNUSUAL, with
 * nothing done, for other calls. In the first slot the indices are constants, which need no bounds checks. `read` reads an
 * error, or a result other than none.
 */
export function invokeFew(pointer: number, args: readonly unknown[], x: TensorObject, read: ReadResult): unknown {
  const count = args.length;
  let y: TensorObject | null = x;
  let z: TensorObject | null = x;
  if (count > 1) {
    const second = args[1];
    const third = count > 2 ? args[2] : second;
    if (!(second instanceof OwnTensor && third instanceof OwnTensor)) return UNUSUAL;
    // Now, because `instanceof` may have run a program's code, which may have disposed a tensor. From here on none runs.
    if (x.refs === 0) return UNUSUAL;
    // Written here and not in functions, because V8 may have inlined the reading of results instead of them.
    let other: Descriptor | null;
    let last: Descriptor | null;
    try {
      other = readRaw(second);
      last = readRaw(third);
    } catch {
      return UNUSUAL; // a proxy of a tensor
    }
    if (other === null || other.storage.refs === 0 || last === null || last.storage.refs === 0) return UNUSUAL;
    y = other.tvmObject as TensorObject | null;
    z = last.tvmObject as TensorObject | null;
    if (y === null || !y.isPlain || z === null || !z.isPlain) return UNUSUAL;
  }
  if (callState.isUsed || u32[WireHeader.TOP] !== Wire.FIRST_SLOT) return UNUSUAL;
  // Always three. The result follows the arguments that count.
  f64[FIRST_ARGUMENT] = TENSOR_BITS;
  f64[FIRST_ARGUMENT + 1] = x.pointer;
  f64[FIRST_ARGUMENT + 2] = TENSOR_BITS;
  f64[FIRST_ARGUMENT + 3] = y.pointer;
  f64[FIRST_ARGUMENT + 4] = TENSOR_BITS;
  f64[FIRST_ARGUMENT + 5] = z.pointer;
  f64[Wire.FIRST_SLOT + CallRequest.FUNCTION] = pointer;
  i32[Wire.FIRST_SLOT * 2 + CallRequest.COUNT] = count;
  i32[Wire.FIRST_SLOT * 2 + CallRequest.DEVICE_TYPE] = 0;
  u32[WireHeader.TOP] = FIRST_ARGUMENT + 4 * ANY_WORDS;
  u32[WireHeader.SLOT] = Wire.FIRST_SLOT;
  let value: unknown;
  try {
    value = ffi.call();
  } catch (error) {
    leaveFew();
    throw error;
  }
  if (i32[(FIRST_ARGUMENT + count * ANY_WORDS) * 2] !== Type.none || i32[STATUS_OF_FIRST] !== 0) {
    return readAndLeave(args, value, read);
  }
  // As `leaveFew`, which V8 may not inline here.
  if (callState.isUsed) leaveFew();
  else u32[WireHeader.TOP] = Wire.FIRST_SLOT;
  return undefined;
}

function readAndLeave(args: readonly unknown[], value: unknown, read: ReadResult): unknown {
  try {
    return read(args, value);
  } finally {
    leaveFew();
  }
}

/**
 * A call outside of other calls whose arguments are tensors on the host, of which some have no objects yet. Returns UNUSUAL,
 * with nothing done, for other calls. The code for all values is too large for V8 to inline.
 */
export function invokeDescribed(pointer: number, args: readonly unknown[], read: ReadResult): unknown {
  const count = args.length;
  for (let i = 0; i < count; i++) {
    const value = args[i];
    if (!(value instanceof OwnTensor) || readDescriptor(value).device !== cpu) return UNUSUAL;
  }
  if (callState.isUsed || u32[WireHeader.TOP] !== Wire.FIRST_SLOT) return UNUSUAL;
  const result = FIRST_ARGUMENT + count * ANY_WORDS;
  u32[WireHeader.TOP] = result + ANY_WORDS;
  try {
    let hasDescribed = false;
    for (let i = 0; i < count; i++) {
      if (writeTensor(FIRST_ARGUMENT + i * ANY_WORDS, readDescriptor(args[i] as Tensor))) hasDescribed = true;
    }
    f64[Wire.FIRST_SLOT + CallRequest.FUNCTION] = pointer;
    i32[Wire.FIRST_SLOT * 2 + CallRequest.COUNT] = count;
    i32[Wire.FIRST_SLOT * 2 + CallRequest.DEVICE_TYPE] = 0;
    if (hasDescribed) describeAll(FIRST_ARGUMENT, args);
    if (callState.isUsed) checkLent(0);
    u32[WireHeader.SLOT] = Wire.FIRST_SLOT;
    const value = hasDescribed ? ffi.callDescribed() : ffi.call();
    if (hasDescribed && i32[STATUS_OF_FIRST] !== 0) throw errorOfCall(Wire.FIRST_SLOT);
    const type = i32[result * 2];
    if (type === Type.none && i32[STATUS_OF_FIRST] === 0) return undefined;
    if (hasDescribed && type === Type.tensor) keepResult(Wire.FIRST_SLOT);
    return read(args, value);
  } finally {
    leaveFew();
  }
}

/** Marks a tensor to be described later, and returns true, or writes its object, which is made if there is none. */
function writeTensor(at: number, descriptor: Descriptor): boolean {
  if (descriptor.tvmObject === null && describeLater(at, descriptor, false)) return true;
  const object = tensorObject(descriptor);
  if (object.isOwning) writeAny(at, Type.tensor, object.pointer);
  else writeAny(at, Type.tensorView, object.view);
  return false;
}

/** Frees the slot of such a call. */
function leaveFew(): void {
  if (callState.isUsed) endCall(Wire.FIRST_SLOT, 0, 0, false);
  else u32[WireHeader.TOP] = Wire.FIRST_SLOT;
}
