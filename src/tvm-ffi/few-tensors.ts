/**
 * Calls whose arguments are a few tensors that have objects, as those of most kernels are.
 *
 * @module
 */

import { wire } from '../native/wire.js';
import { Wire, WireHeader } from '../native/wire-layout.js';
import { Tensor } from '../tensor.js';
import { descriptorOf } from '../view.js';
import { ANY_WORDS, TENSOR_BITS, Type } from './any.js';
import { ffi } from './library.js';
import { callState, endCall } from './objects.js';
import type { TensorObject } from './tensor-object.js';
import { CallRequest } from './wire-layout.js';

const { f64, i32, u32 } = wire;
// Constants of this module, because an import from another chunk of dist costs a load and a check at each use.
const OwnTensor = Tensor;
const readDescriptor = descriptorOf;

/** The most arguments of a call that {@link invokeFew} makes. */
const FEW_ARGUMENTS = 3;
export const FIRST_ARGUMENT = Wire.FIRST_SLOT + CallRequest.WORDS;
export const STATUS_OF_FIRST = Wire.FIRST_SLOT * 2 + CallRequest.STATUS;
/** The result of a call that was not made. */
export const UNUSUAL = Symbol('unusual');

/** `value` is what the native function returned. */
type ReadResult = (args: readonly unknown[], value: unknown) => unknown;

/** The object of a tensor whose address is all that a call needs; null for other values. */
function plainObjectOf(value: unknown): TensorObject | null {
  if (!(value instanceof OwnTensor)) return null;
  const object = readDescriptor(value).tvmObject as TensorObject | null;
  return object?.isPlain === true ? object : null;
}

/** The object of the first argument, if a call may be one of {@link invokeFew}; otherwise null. */
export function firstOf(args: readonly unknown[]): TensorObject | null {
  return args.length > 0 && args.length <= FEW_ARGUMENTS ? plainObjectOf(args[0]) : null;
}

/**
 * A call with one to three arguments, all of them tensors that have objects, outside of other calls. Returns UNUSUAL, with
 * nothing done, for other calls. In the first slot the indices are constants, which need no bounds checks. `read` reads an
 * error, or a result other than none.
 */
export function invokeFew(pointer: number, args: readonly unknown[], x: TensorObject, read: ReadResult): unknown {
  const count = args.length;
  const y = count > 1 ? plainObjectOf(args[1]) : x;
  const z = count > 2 ? plainObjectOf(args[2]) : x;
  // After all arguments were read, because a proxy among them may have run code, which may have disposed a tensor.
  if (y === null || z === null || x.refs + y.refs + z.refs !== 3) return UNUSUAL;
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
  leaveFew();
  return undefined;
}

function readAndLeave(args: readonly unknown[], value: unknown, read: ReadResult): unknown {
  try {
    return read(args, value);
  } finally {
    leaveFew();
  }
}

/** Frees the slot of such a call. */
function leaveFew(): void {
  if (callState.isUsed) endCall(Wire.FIRST_SLOT, 0, 0, false);
  else u32[WireHeader.TOP] = Wire.FIRST_SLOT;
}
