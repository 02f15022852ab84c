/**
 * Operations on Python objects: writes the arguments into cells, calls native code once, and reads the result or the
 * error.
 */

import { BufferError } from '../errors.js';
import { placeOf } from '../native/export.js';
import type { NativeStorage } from '../native/native-storage.js';
import { errorOfTensor } from '../native/status.js';
import { wire } from '../native/wire.js';
import { Status, TensorResult, WireHeader } from '../native/wire-layout.js';
import { sendTensor, takeTensorInto } from '../native/wire-tensor.js';
import { isDebug, recordExport } from '../storage/debug.js';
import { type Descriptor, UNSENT } from '../storage/descriptor.js';
import type { ImportRequest } from '../storage/foreign.js';
import { Tensor } from '../tensor.js';
import { descriptorOf, TensorView } from '../view.js';
import {
  beginRequest,
  checkCount,
  currentExtras,
  type Extras,
  earlier,
  endRequest,
  handleOf,
  writeArgument,
  writeSpilled,
} from './arguments.js';
import { binding } from './binding.js';
import { writeCell } from './cells.js';
import { writeConsume } from './consume-request.js';
import { JAVASCRIPT_ERROR, PythonError } from './error.js';
import { causeOf } from './functions.js';
import { Keywords } from './keywords.js';
import { enterPlainCall } from './plain-call.js';
import { defineProxies, END } from './proxy.js';
import { makeStorage } from './python-storage.js';
import { liveHandle, type Reference, releaseHandle } from './reference.js';
import { keepSignalsLater } from './signals.js';
import { enter, leave } from './slot.js';
import {
  Cell,
  ConsumeRequest,
  ConversionRequest,
  Operation,
  Outcome,
  PerformRequest,
  ValueKind,
} from './wire-layout.js';

// Constants of this module; wire.ts explains why.
const { u32, i32, f64 } = wire;
// An import from another chunk of dist costs a load and a check at each use.
const View = TensorView;
const OwnTensor = Tensor;
const readDescriptor = descriptorOf;
const findPlace = placeOf;
const describe = sendTensor;

const none: readonly unknown[] = [];

/** Makes a proxy for a handle that native code returned. */
export const wrap = defineProxies({ perform, call, consume, convert });

/** Runs one operation, with an object, a name and arguments where the operation has them. */
export function perform(
  operation: number,
  subject: Reference | null,
  name: string | null = null,
  args: readonly unknown[] = none,
): unknown {
  return send(operation, subject, name, args, null, takeResult);
}

function call(subject: Reference, args: readonly unknown[]): unknown {
  const slot = enterPlainCall(subject, args);
  if (slot === 0) return callAny(Operation.call, subject, args, takeResult);
  const spilled = sendPlain(slot);
  if (u32[slot * 2 + Outcome.FAILED] === 1) throw leaveWithError(slot, spilled);
  leave(slot);
  return takeResult(slot, spilled);
}

/** A call with any arguments whose result is a tensor. */
export function callAnyTensor(subject: Reference, args: readonly unknown[]): Tensor {
  return new OwnTensor(callAny(Operation.callTensor, subject, args, takeTensor));
}

/** A call with any arguments. Keyword arguments are the last argument, and a plain call has none. */
function callAny<T>(
  operation: number,
  subject: Reference,
  args: readonly unknown[],
  take: (slot: number, spilled: unknown) => T,
): T {
  const last = args.length > 0 ? args[args.length - 1] : undefined;
  // No `instanceof` for a function, because it would call Python for the prototype of a Python object.
  const keywords = typeof last === 'object' && last instanceof Keywords ? last : null;
  return send(operation, subject, null, keywords === null ? args : args.slice(0, -1), keywords, take);
}

/**
 * A function that sends the request in a slot, and returns a value that does not fit into the slot, or the exception. Only
 * the call is inside `try`, because V8 makes objects of derived classes slowly there.
 */
function sender(call: () => unknown): (slot: number) => unknown {
  return (slot) => {
    u32[WireHeader.SLOT] = slot;
    try {
      return call();
    } catch (error) {
      leave(slot);
      throw error;
    }
  };
}

export const sendPlain = sender(() => binding().perform());
const sendConversion = sender(() => binding().convert());
const sendConsume = sender(() => binding().consume());

/**
 * Converts a tensor in native memory to an object of a class, or to the object that a converter makes of it. Returns its
 * handle; 0 when the class needs a copy, or when the converter has to be called.
 */
export function performConversion(target: Reference, descriptor: Descriptor, mayCopy: boolean): number {
  const trace = isDebug() ? recordExport() : 0; // first, because user code may hook stack traces
  const handle = liveHandle(target);
  const slot = enter(ConversionRequest.WORDS + 2 * descriptor.shape.length);
  const half = slot * 2;
  u32[half + ConversionRequest.TARGET] = handle;
  u32[half + ConversionRequest.MAY_COPY] = mayCopy ? 1 : 0;
  if (descriptor.sentLayout === null) descriptor.sentLayout = { number: UNSENT };
  describe(slot + ConversionRequest.TENSOR, descriptor, (descriptor.storage as NativeStorage).handle, trace);
  const raised = sendConversion(slot);
  if (u32[half + Outcome.FAILED] === 1) throw leaveWithError(slot, raised);
  leave(slot);
  return u32[half + Outcome.RESULT_KIND] === ValueKind.handle ? (u32[half + Outcome.RESULT_HANDLE] as number) : 0;
}

/** Makes the object that a converter makes of a tensor. Returns its handle; 0 when the converter has to be called. */
function convert(converter: Reference, value: unknown): number {
  // No `instanceof` for a function, because it would call Python for the prototype of a Python object.
  if (typeof value !== 'object' || !(value instanceof View)) return 0;
  const descriptor = readDescriptor(value);
  return findPlace(descriptor) === 'native' ? performConversion(converter, descriptor.shared(), false) : 0;
}

/** The handle of a Python object for a value, even for values that JavaScript has, too, such as numbers. */
export function hold(value: unknown): number {
  return send(Operation.hold, null, null, [value], null, takeHandle);
}

earlier.make = (value) => wrap(hold(value));

/** The tensor of a Python object: from its type's exchange API, then as a versioned, then as a legacy capsule. */
export function consume(reference: Reference, request: ImportRequest | null): Descriptor {
  const slot = writeConsume(liveHandle(reference), request);
  const raised = sendConsume(slot);
  if (u32[slot * 2 + Outcome.FAILED] === 1) throw leaveWithError(slot, raised);
  leave(slot);
  return takeDescriptor(slot + ConsumeRequest.WORDS);
}

/** The exception of the request in a slot, which this frees. */
export function leaveWithError(slot: number, raised: unknown): unknown {
  try {
    return toError(slot, raised);
  } finally {
    leave(slot);
  }
}

/**
 * Starts a call on another thread, without waiting for the GIL. The references in its arguments are pinned, and the
 * caller unpins them when the call has settled.
 */
export function startCall(
  subject: Reference,
  args: readonly unknown[],
  keywords: Keywords | null,
  promise: number,
): readonly Reference[] {
  return send(Operation.callAsync, subject, null, args, keywords, takeStarted, promise);
}

function takeStarted(slot: number, spilled: unknown): readonly Reference[] {
  if (u32[slot * 2 + Outcome.FAILED] === 1) throw toError(slot, spilled);
  const extras = currentExtras() as Extras;
  const started = extras.references as Reference[];
  extras.references = null; // the caller owns them now
  return started;
}

/** Takes a slot, fills its cells, calls native code, and reads the outcome with `take`. */
function send<T>(
  operation: number,
  subject: Reference | null,
  name: string | null,
  args: readonly unknown[],
  keywords: Keywords | null,
  take: (slot: number, spilled: unknown) => T,
  promise = 0,
): T {
  keepSignalsLater();
  const pairs = keywords === null ? none : Object.entries(keywords.values);
  const count = (subject === null ? 0 : 1) + (name === null ? 0 : 1) + args.length + 2 * pairs.length;
  checkCount(args.length + pairs.length);
  const words = PerformRequest.WORDS + count * Cell.WORDS;
  const slot = enter(operation === Operation.callTensor ? words + TensorResult.WORDS : words);
  const outer = beginRequest(promise !== 0);
  // Arguments may run user code, which may release handles that are already in cells.
  const preparing = u32[WireHeader.PREPARING] as number;
  u32[WireHeader.PREPARING] = 1;
  let spilled: unknown;
  let early: { readonly result: T } | null = null;
  let failure: ReturnType<typeof endRequest>;
  try {
    let word = slot + PerformRequest.CELLS;
    if (subject !== null) {
      writeCell(word, ValueKind.handle, handleOf(subject), 0);
      word += Cell.WORDS;
    }
    if (name !== null) {
      writeName(word, name);
      word += Cell.WORDS;
    }
    for (let i = 0; i < args.length; i++, word += Cell.WORDS) writeArgument(word, args[i], 0);
    for (let i = 0; i < pairs.length; i++, word += 2 * Cell.WORDS) {
      const [key, value] = pairs[i] as [string, unknown];
      writeName(word, key);
      writeArgument(word + Cell.WORDS, value, 0);
    }
    const spill = currentExtras()?.spill ?? none;
    const half = slot * 2;
    u32[half + PerformRequest.OPERATION] = operation;
    u32[half + PerformRequest.COUNT] = count;
    u32[half + PerformRequest.KEYWORDS] = pairs.length;
    u32[half + PerformRequest.SPILLED] = spill.length;
    u32[half + PerformRequest.TENSOR_SLOT] = slot + words;
    u32[half + PerformRequest.PROMISE] = promise;
    u32[WireHeader.SLOT] = slot;
    u32[WireHeader.PREPARING] = preparing;
    spilled = spill.length === 0 ? binding().perform() : binding().perform(...(spill as Extras['spill']));
    // Before the references are unpinned. The call has begun, so an error of a deleter would not be its outcome.
    if (promise !== 0) return take(slot, spilled);
    // Before the deleters of producers, which may import a tensor: native code leaves out the layout of the last import.
    if (currentExtras()?.temporaries != null) early = { result: take(slot, spilled) };
  } finally {
    u32[WireHeader.PREPARING] = preparing;
    failure = endRequest(outer);
    leave(slot);
  }
  // Outside of `try`, where V8 inlines constructors. Nothing has used the slot since.
  const result = early === null ? take(slot, spilled) : early.result;
  if (failure !== null) {
    // The collector releases a proxy or a tensor, but does not know the bare handle of `hold`.
    if (operation === Operation.hold) releaseHandle(result as number);
    throw failure.error;
  }
  return result;
}

/** Names of attributes and keywords, interned in Python. They are never released, so their number is limited. */
const interned = new Map<string, number>();
const MAX_NAMES = 4096;

function writeName(word: number, name: string): void {
  let handle = interned.get(name);
  if (handle === undefined) {
    // An asynchronous call must not wait for the operation that interns a name.
    if (interned.size >= MAX_NAMES || currentExtras()?.references != null) {
      writeSpilled(word, ValueKind.string, name);
      return;
    }
    handle = send(Operation.name, null, null, [name], null, takeHandle);
    interned.set(name, handle);
  }
  writeCell(word, ValueKind.handle, handle, 0);
}

/** The result of an operation. `spilled` is a value that did not fit into the message, or the exception. */
export function takeResult(slot: number, spilled: unknown): unknown {
  const half = slot * 2;
  if (u32[half + Outcome.FAILED] === 1) throw toError(slot, spilled);
  switch (u32[half + Outcome.RESULT_KIND]) {
    case ValueKind.handle:
      return wrap(u32[half + Outcome.RESULT_HANDLE] as number);
    case ValueKind.converter:
      return converterOf(u32[half + Outcome.RESULT_HANDLE] as number);
    case ValueKind.bool:
      return f64[slot + Outcome.RESULT_NUMBER] === 1;
    case ValueKind.int:
    case ValueKind.float:
      return f64[slot + Outcome.RESULT_NUMBER];
    case ValueKind.string:
    case ValueKind.bytes:
      return spilled;
    case ValueKind.bigInt:
      return toBigInt(spilled as string);
    case ValueKind.end:
      return END;
    default:
      return null;
  }
}

/** Proxies of converters. Native code never releases their handles. */
const converters = new Map<number, object>();

function converterOf(handle: number): object {
  let proxy = converters.get(handle);
  if (proxy === undefined) {
    proxy = wrap(handle, true);
    converters.set(handle, proxy);
  }
  return proxy;
}

function takeHandle(slot: number, spilled: unknown): number {
  if (u32[slot * 2 + Outcome.FAILED] === 1) throw toError(slot, spilled);
  return u32[slot * 2 + Outcome.RESULT_HANDLE] as number;
}

function takeTensor(slot: number, spilled: unknown): Descriptor {
  if (u32[slot * 2 + Outcome.FAILED] === 1) throw toError(slot, spilled);
  return takeDescriptor(u32[slot * 2 + PerformRequest.TENSOR_SLOT] as number);
}

/** The tensor of a {@link TensorResult}. When it is released, the next operation drops the Python object. */
function takeDescriptor(slot: number): Descriptor {
  const status = i32[slot * 2 + TensorResult.STATUS] as number;
  if (status !== Status.ok) throw errorOfTensor(status, slot + TensorResult.TENSOR);
  return takeTensorInto(slot + TensorResult.TENSOR, makeStorage);
}

/** Parses digits as Python writes them: `-0xff`. */
function toBigInt(digits: string): bigint {
  try {
    return digits.startsWith('-') ? -BigInt(digits.slice(1)) : BigInt(digits);
  } catch (cause) {
    throw new BufferError('This Python int is too long for a JavaScript bigint; work with it in Python', { cause });
  }
}

/** A value that native code passed outside of the wire, as its kind and a number or text. */
export function toValue(kind: number, value: unknown): unknown {
  switch (kind) {
    case ValueKind.handle:
      return wrap(value as number);
    case ValueKind.none:
      return null;
    case ValueKind.bool:
      return value === 1;
    case ValueKind.bigInt:
      return toBigInt(value as string);
    default:
      return value;
  }
}

/** The exception of a request that failed. */
function toError(slot: number, raised: unknown): PythonError {
  const { type, message, traceback = '' } = raised as Record<'type' | 'message' | 'traceback', string>;
  const isHeld = u32[slot * 2 + Outcome.RESULT_KIND] === ValueKind.handle;
  return makeError(type, message, traceback, isHeld ? (u32[slot * 2 + Outcome.RESULT_HANDLE] as number) : 0);
}

/** `exception` is a handle, or 0. The cause is the value that a JavaScript function threw, if there is one. */
export function makeError(type: string, message: string, traceback: string, exception: number): PythonError {
  if (exception === 0) return new PythonError(type, message, traceback, null);
  const cause = type === JAVASCRIPT_ERROR ? causeOf(exception) : undefined;
  return new PythonError(type, message, traceback, wrap(exception), cause);
}
