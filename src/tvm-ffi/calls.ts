/** Calls of native functions, and their results. */

import type { DeviceInfo } from '../device.js';
import { BufferError } from '../errors.js';
import { takePushed } from '../native/import.js';
import { wire } from '../native/wire.js';
import { bytesCopyAt } from '../native/wire-bytes.js';
import { Wire, WireHeader } from '../native/wire-layout.js';
import { shareDescriptor, Tensor } from '../tensor.js';
import { descriptorOf, TensorView } from '../view.js';
import {
  ANY_WORDS,
  bytesAt,
  FLOAT_BITS,
  INT_BITS,
  payloadAt,
  readSmallString,
  TENSOR_BITS,
  Type,
  typeAt,
} from './any.js';
import { writeArgument } from './arguments.js';
import { collectArguments } from './batches.js';
import { operations } from './call-operations.js';
import { readContainer, readCopied, retain } from './containers.js';
import { describeAll, errorOfCall, keepResult } from './described-tensors.js';
import { errorAt, takeRaised } from './errors.js';
import {
  FIRST_ARGUMENT,
  firstOf,
  invokeDescribed,
  invokeFew,
  plainObjectOf,
  STATUS_OF_FIRST,
  UNUSUAL,
} from './few-tensors.js';
import { heldValue } from './host-values.js';
import { ffi } from './library.js';
import { makeView } from './live-containers.js';
import { wrapObject } from './object-classes.js';
import {
  adoptObject,
  callState,
  checkLent,
  disown,
  endCall,
  keepForCall,
  recognise,
  remember,
  standIns,
  TemporaryObject,
} from './objects.js';
import { enter, leave } from './slot.js';
import { streamOf } from './streams.js';
import type { TensorObject } from './tensor-object.js';
import { DataType, DeviceValue, OpaquePointer, Shape } from './values.js';
import { CallRequest, ValueRequest } from './wire-layout.js';

const { f64, i64, u64, i32, u32 } = wire;
// Constants of this module, because an import from another chunk of dist costs a load and a check at each use.
const OwnTensor = Tensor;
const readDescriptor = descriptorOf;

/** The most arguments that a call has on the wire. More are collected in a batch. */
const MOST_ARGUMENTS = 256;
/** A native function. */
export type FFIFunction = (...args: unknown[]) => unknown;

/** Calls the function at `pointer`. */
export function invoke(pointer: number, args: readonly unknown[]): unknown {
  const first = firstOf(args);
  if (first !== null) {
    const object = plainObjectOf(first);
    const result =
      object === null ? invokeDescribed(pointer, args, readFew) : invokeFew(pointer, args, object, readFew);
    if (result !== UNUSUAL) return result;
  }
  return callState.isUsed ? invokeInside(pointer, args, false) : invokeWith(pointer, args, 0, 0, false, false);
}

/** The result of a call of few-tensors.ts. `value` is what the native function returned. */
function readFew(args: readonly unknown[], value: unknown): unknown {
  if (i32[STATUS_OF_FIRST] !== 0) throw takeRaised();
  const result = FIRST_ARGUMENT + args.length * ANY_WORDS;
  return i32[result * 2] === Type.tensor
    ? readTensor(Wire.FIRST_SLOT, result, args)
    : readValue(result, value, Wire.FIRST_SLOT * 2 + CallRequest.REFERENCE);
}

/** As `invoke`, while no other thread uses the table of global functions. */
export function invokeLocked(pointer: number, args: readonly unknown[]): unknown {
  return callState.isUsed ? invokeInside(pointer, args, true) : invokeWith(pointer, args, 0, 0, true, false);
}

/** A call inside another call that uses more than its slot. It leaves the state of the outer call unchanged. */
function invokeInside(pointer: number, args: readonly unknown[], locked: boolean): unknown {
  const { device, temporaries, lent } = callState;
  callState.device = null;
  try {
    return invokeWith(pointer, args, temporaries.length, lent.length, locked, true);
  } finally {
    callState.device = device;
  }
}

function invokeWith(
  pointer: number,
  args: readonly unknown[],
  mark: number,
  lentMark: number,
  locked: boolean,
  isInside: boolean,
): unknown {
  const count = args.length;
  const slot = u32[WireHeader.TOP] as number;
  const first = slot + CallRequest.WORDS;
  const result = first + count * ANY_WORDS;
  if (count > MOST_ARGUMENTS || result + ANY_WORDS > Wire.WORDS) {
    return invokeWithBatch(pointer, args, mark, lentMark, isInside);
  }
  u32[WireHeader.TOP] = result + ANY_WORDS;
  let hasDescribed = false;
  try {
    for (let i = 0; i < count; i++) {
      const value = args[i];
      const at = first + i * ANY_WORDS;
      // Numbers and tensors are written here: how V8 compiles a call depends on the calls that it has seen before.
      if (typeof value === 'number') {
        const small = value | 0;
        if (small === value && !Object.is(value, -0)) {
          f64[at] = INT_BITS;
          i32[at * 2 + 2] = small;
          i32[at * 2 + 3] = small >> 31;
          continue;
        }
        if (Math.floor(value) !== value) {
          f64[at] = FLOAT_BITS;
          f64[at + 1] = value;
          continue;
        }
      } else if (value instanceof OwnTensor) {
        const object = readDescriptor(value).tvmObject as TensorObject | null;
        if (object?.isPlain === true) {
          f64[at] = TENSOR_BITS;
          f64[at + 1] = object.pointer;
          continue;
        }
      }
      if (writeArgument(at, value, !locked)) hasDescribed = true;
    }
    const half = slot * 2;
    f64[slot + CallRequest.FUNCTION] = pointer;
    i32[half + CallRequest.COUNT] = count;
    i32[half + CallRequest.DEVICE_TYPE] = 0;
    if (callState.device !== null) writeStream(slot, callState.device);
    if (hasDescribed) describeAll(first, args);
    if (callState.isUsed) checkLent(lentMark);
    u32[WireHeader.SLOT] = slot;
    const value = hasDescribed ? ffi.callDescribed() : locked ? ffi.callLocked() : ffi.call();
    if (i32[half + CallRequest.STATUS] !== 0) throw hasDescribed ? errorOfCall(slot) : takeRaised();
    const type = i32[result * 2] as number;
    if (type === Type.none) return undefined;
    if (type === Type.float) return f64[result + 1];
    if (type === Type.int && i32[result * 2 + 3] === (i32[result * 2 + 2] as number) >> 31) return i32[result * 2 + 2];
    if (hasDescribed && type === Type.tensor) keepResult(slot);
    return type === Type.tensor
      ? readTensor(slot, result, args)
      : readValue(result, value, half + CallRequest.REFERENCE);
  } finally {
    if (callState.isUsed) endCall(slot, mark, lentMark, isInside);
    else u32[WireHeader.TOP] = slot;
  }
}

/** The first argument on a device other than the host determines the stream of the call. */
function writeStream(slot: number, device: DeviceInfo): void {
  const stream = streamOf(device);
  if (stream === null) return;
  u64[slot + CallRequest.STREAM] = stream;
  i32[slot * 2 + CallRequest.DEVICE_TYPE] = device.type;
  i32[slot * 2 + CallRequest.DEVICE_ID] = device.id;
}

/** Calls a function like {@link invoke}, but an Array or Map that it returns becomes a view instead of a copy. */
export function invokeForView(pointer: number, args: readonly unknown[]): unknown {
  const { device, temporaries, lent, isUsed } = callState;
  callState.device = null;
  try {
    return invokeWithBatch(pointer, args, temporaries.length, lent.length, isUsed, true);
  } finally {
    callState.device = device;
  }
}

function invokeWithBatch(
  pointer: number,
  args: readonly unknown[],
  mark: number,
  lentMark: number,
  isInside: boolean,
  asView = false,
): unknown {
  const slot = enter(CallRequest.WORDS + ANY_WORDS);
  const half = slot * 2;
  const result = slot + CallRequest.WORDS;
  callState.isUsed = true;
  try {
    const batch = collectArguments(args, writeArgument);
    keepForCall(new TemporaryObject(batch));
    f64[slot + CallRequest.FUNCTION] = pointer;
    u32[half + CallRequest.BATCH] = batch;
    i32[half + CallRequest.DEVICE_TYPE] = 0;
    if (callState.device !== null) writeStream(slot, callState.device);
    checkLent(lentMark);
    u32[WireHeader.SLOT] = slot;
    const value = ffi.callWithBatch();
    if (i32[half + CallRequest.STATUS] !== 0) throw takeRaised();
    const type = i32[typeAt(result)] as number;
    if (type === Type.tensor) return readTensor(slot, result, args);
    return asView && isViewable(type)
      ? readView(f64[payloadAt(result)] as number, type, u32[half + CallRequest.REFERENCE] as number)
      : readValue(result, value, half + CallRequest.REFERENCE);
  } finally {
    endCall(slot, mark, lentMark, isInside);
  }
}

/** A tensor that a call returned: a second owner if it is an argument, otherwise the tensor that was pushed. */
function readTensor(slot: number, result: number, args: readonly unknown[]): Tensor {
  const place = u32[slot * 2 + CallRequest.ARGUMENT] as number;
  if (place === 0) return new Tensor(takePushed());
  const argument = args[place - 1];
  if (argument instanceof OwnTensor && !argument.isDisposed) return shareDescriptor(readDescriptor(argument));
  // The argument was disposed by a callback, or made only for the call. Its native object lives until the call ends.
  return takeValue(result) as Tensor;
}

/** The JavaScript function for a native function with a reference, the same one as long as it is alive. */
export function functionAt(pointer: number, reference: number): FFIFunction {
  return recogniseOr(pointer, reference, () => {
    const call = (...args: unknown[]): unknown => invoke(pointer, args);
    // Keeps the handle alive as long as the function.
    standIns.set(call, adoptObject(pointer, Type.function, reference));
    return call;
  }) as FFIFunction;
}

/** Reads the value at a word. The caller keeps the object of the value alive. */
export function takeValue(at: number): unknown {
  const type = i32[typeAt(at)] as number;
  if (type < Type.tensorView || type === Type.smallString || type === Type.smallBytes)
    return readValue(at, undefined, 0);
  // If this throws, the slot is freed with the outer request.
  const slot = enter(ValueRequest.WORDS);
  u32[slot * 2 + ValueRequest.VALUE] = at;
  u32[WireHeader.SLOT] = slot;
  const taken = ffi.take();
  if (i32[slot * 2 + ValueRequest.STATUS] !== 0) throw takeRaised();
  const value =
    type === Type.tensor
      ? new Tensor(takePushed())
      : type === Type.tensorView
        ? borrowedView()
        : readValue(at, taken, slot * 2 + ValueRequest.REFERENCE);
  leave(slot);
  return value;
}

/** As {@link takeValue}, but an Array or Map becomes a view. */
function takeView(at: number): unknown {
  const type = i32[typeAt(at)] as number;
  return isViewable(type) ? readView(f64[payloadAt(at)] as number, type, retain(at)) : takeValue(at);
}

/** True for the containers that are copied unless a view is requested. */
export function isViewable(type: number): boolean {
  return type === Type.array || type === Type.map;
}

/** Reads a value at a word whose contents, if any, were taken: as `taken`, or as a reference at an index of `u32`. */
export function readValue(word: number, taken: unknown, referenceAt: number): unknown {
  const at = typeAt(word);
  switch (i32[at]) {
    case Type.none:
      return undefined;
    case Type.int: {
      const high = i32[at + 3] as number;
      const value = high * 2 ** 32 + (u32[at + 2] as number);
      return Number.isSafeInteger(value) ? value : i64[payloadAt(word)];
    }
    case Type.bool:
      return i32[at + 2] !== 0;
    case Type.float:
      return f64[payloadAt(word)];
    case Type.smallString:
      return readSmallString(word, i32[at + 1] as number);
    case Type.smallBytes:
      return bytesCopyAt(bytesAt(word), i32[at + 1] as number);
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
      return new OpaquePointer(u64[payloadAt(word)] as bigint);
    default: {
      const pointer = f64[payloadAt(word)] as number;
      if (typeof taken === 'number') return recognise(pointer) ?? heldValue(taken);
      return readObject(i32[at] as number, pointer, u32[referenceAt] as number, taken === true);
    }
  }
}

/** A view that native code provides for the duration of a callback. */
function borrowedView(): TensorView {
  const descriptor = takePushed();
  keepForCall(descriptor.storage);
  return new TensorView(descriptor);
}

/** An object with a reference. `isShared`: native code has others, so JavaScript may know the object. */
function readObject(type: number, pointer: number, reference: number, isShared: boolean): unknown {
  switch (type) {
    case Type.error:
      return errorAt(pointer, reference);
    case Type.function:
      return functionAt(pointer, reference);
    case Type.shape:
      return new Shape(readContainer(pointer, type, reference) as number[]);
    case Type.array:
      return reference === 0 ? readCopied(pointer) : readContainer(pointer, type, reference);
    case Type.map:
      return readContainer(pointer, type, reference);
    case Type.list:
    case Type.dict:
      return readView(pointer, type, reference);
    default:
      if (!isShared) return wrapObject(adoptObject(pointer, type, reference));
      return recogniseOr(pointer, reference, () => {
        const handle = adoptObject(pointer, type, reference);
        handle.isKnown = true;
        return wrapObject(handle);
      });
  }
}

export function readView(pointer: number, type: number, reference: number): object {
  return recogniseOr(pointer, reference, () => makeView(adoptObject(pointer, type, reference)));
}

/** The existing JavaScript value for a native object, or a new one from `make`, which takes over the reference. */
function recogniseOr(pointer: number, reference: number, make: () => object): object {
  const known = recognise(pointer);
  if (known === undefined) return remember(pointer, make());
  disown(reference);
  return known;
}

Object.assign(operations, { invoke, invokeForView, takeValue, takeView, functionAt });
