/**
 * Operations on Python objects: writes the arguments into cells, calls native code once, and reads the result or the
 * error.
 */

import { ensureRoom } from '../../base/stack.js';
import { placeOf } from '../../native/exchange/export.js';
import type { NativeStorage } from '../../native/memory/storage.js';
import { Status } from '../../native/wire/constants.js';
import { errorOfTensor } from '../../native/wire/status.js';
import { takeTensor, writeTensor } from '../../native/wire/tensor.js';
import { enter, leave } from '../../native/wire/wire.js';
import { TensorResult, WireHeader } from '../../native/wire/wire-layout.js';
import { isDebug, recordExport } from '../../storage/debug.js';
import type { Descriptor } from '../../storage/descriptor.js';
import type { ForeignRequest } from '../../storage/foreign.js';
import { inScope } from '../../storage/scoped.js';
import { Tensor } from '../../tensor.js';
import { descriptorOf, sharedDescriptorOf, TensorView } from '../../view.js';
import { binding } from '../binding.js';
import { PythonError } from '../error.js';
import { keepSignalsLater } from '../interpreter/signals.js';
import { defineProxies, END } from '../objects/proxy.js';
import {
  leftBehind,
  liveHandle,
  MAX_RELEASED,
  type Reference,
  releaseObject,
  unpinReference,
} from '../objects/reference.js';
import { writeConsume } from '../tensors/consume.js';
import { makeStorage } from '../tensors/python-storage.js';
import { writeCell } from '../values/cells.js';
import { toBigInt } from '../values/integers.js';
import {
  Cell,
  ConsumeRequest,
  ConversionRequest,
  Operation,
  Outcome,
  PerformRequest,
  ReleasedList,
  ValueKind,
} from '../wire-layout.js';
import {
  beginExtras,
  checkCount,
  endExtras,
  isAsyncCall,
  writeArgument,
  writeReference,
  writeSpilled,
} from './arguments.js';
import { causeOf } from './functions.js';
import { beginHolding, endHolding, holdReference, holdStorage } from './held.js';
import { Keywords } from './keywords.js';

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
  return send(operation, subject, name, args, null, takeOutcome);
}

function call(subject: Reference, args: readonly unknown[]): unknown {
  return callWith(Operation.call, subject, args, takeOutcome);
}

/** A call whose result is a tensor. */
export function performTensor(subject: Reference, args: readonly unknown[]): Tensor {
  return new Tensor(callWith(Operation.callTensor, subject, args, takeCallResult));
}

/** A call. Keyword arguments are the last argument. */
function callWith<T>(operation: number, subject: Reference, args: readonly unknown[], take: Take<T>): T {
  const last = args.length > 0 ? args[args.length - 1] : undefined;
  // No `instanceof` for a function, because it would call Python for the prototype of a Python object.
  const keywords = typeof last === 'object' && last instanceof Keywords ? last : null;
  return send(operation, subject, null, keywords === null ? args : args.slice(0, -1), keywords, take);
}

/** Frees the slot of a request that is not made, and what it holds. */
function abandon(slot: number, mark: number): void {
  endHolding(mark);
  leave(slot);
}

/** Reads the outcome of a request. `spilled` is a value that did not fit into the slot. */
type Take<T> = (slot: number, spilled: unknown) => T;

/**
 * Makes the request in a slot, reads its outcome with `take`, releases what the request holds, and frees the slot. If an
 * argument's deleter threw, `fail` decides about the result.
 */
function conclude<T>(
  slot: number,
  mark: number,
  make: () => unknown,
  take: Take<T>,
  fail: (error: unknown, result: T) => T = raise,
): T {
  let result: T;
  let failure: ReturnType<typeof endHolding>;
  try {
    Outcome.setResultHandle(slot, 0);
    result = attempt(slot, make, take);
  } finally {
    // Where the stack is full, nothing has taken the object over.
    const waiting = ReleasedList.objectCount();
    if (isHeld(slot)) {
      if (waiting === MAX_RELEASED) leftBehind[leftBehind.length] = Outcome.resultHandle(slot);
      else {
        ReleasedList.setObjects(waiting, Outcome.resultHandle(slot));
        ReleasedList.setObjectCount(waiting + 1);
      }
    }
    failure = endHolding(mark);
    leave(slot);
  }
  return failure === null ? result : fail(failure.error, result);
}

/** Makes the request in a slot and reads its outcome. */
function attempt<T>(slot: number, make: () => unknown, take: Take<T>): T {
  WireHeader.setSlot(slot);
  const spilled = make();
  if (Outcome.failed(slot) === 1) throw toError(slot, spilled);
  return take(slot, spilled);
}

/** True while the outcome has an object: the result, or the exception. */
function isHeld(slot: number): boolean {
  return Outcome.resultKind(slot) === ValueKind.handle && Outcome.resultHandle(slot) !== 0;
}

function raise(error: unknown): never {
  throw error;
}

const performNow = (): unknown => binding().perform();
const convertNow = (): unknown => binding().convert();
const consumeNow = (): unknown => binding().consume();

/**
 * Converts a tensor in native memory to an object of a class, or to the object that a converter makes of it. Returns its
 * handle; 0 when the class needs a copy, or when the converter has to be called. `'made'`: the tensor is a copy of memory
 * that JavaScript can move.
 */
export function performConversion(
  target: Reference,
  descriptor: Descriptor,
  copy: 'never' | 'if needed' | 'made',
): number {
  const { storage, shape } = descriptor;
  const trace = isDebug() ? recordExport(descriptor) : 0;
  const mark = beginHolding();
  const slot = enter(ConversionRequest.WORDS + 2 * shape.length);
  try {
    holdStorage(storage);
    ConversionRequest.setTarget(slot, holdReference(target));
    ConversionRequest.setMayCopy(slot, copy === 'never' ? 0 : copy === 'made' ? 2 : 1);
    writeTensor(ConversionRequest.tensorAt(slot), descriptor, (storage as NativeStorage).handle, trace);
  } catch (error) {
    abandon(slot, mark);
    throw error;
  }
  return conclude(slot, mark, convertNow, takeConverted);
}

function takeConverted(slot: number): number {
  return isHeld(slot) ? takeHandle(slot) : 0;
}

/** Makes the object that a converter makes of a tensor. Returns its handle; 0 when the converter has to be called. */
function convert(converter: Reference, value: unknown): number {
  // No `instanceof` for a function, because it would call Python for the prototype of a Python object.
  if (typeof value !== 'object' || !(value instanceof TensorView)) return 0;
  const descriptor = descriptorOf(value);
  return placeOf(descriptor) === 'native' ? performConversion(converter, sharedDescriptorOf(value), 'never') : 0;
}

/** The handle of a Python object for a value, even for values that JavaScript has, too, such as numbers. */
export function makeHandle(value: unknown): number {
  return send(Operation.hold, null, null, [value], null, takeHandle, (error, handle) => {
    releaseObject(handle); // the collector does not know a bare handle
    throw error;
  });
}

const make = (value: unknown): object => wrap(makeHandle(value));

/** The tensor of a Python object: from its type's exchange API, then as a versioned, then as a legacy capsule. */
export function consume(reference: Reference, options: ForeignRequest | null): Descriptor {
  const slot = writeConsume(liveHandle(reference), options);
  const mark = beginHolding();
  holdReference(reference);
  return conclude(slot, mark, consumeNow, takeConsumed);
}

function takeConsumed(slot: number): Descriptor {
  return takeTensorResult(ConsumeRequest.end(slot));
}

/**
 * Starts a call on another thread, without waiting for the GIL. The references in its arguments are pinned, and the
 * caller unpins them when the call has settled.
 */
export function startCall(
  operation: number,
  subject: Reference,
  args: readonly unknown[],
  keywords: Keywords | null,
  promise: number,
): readonly Reference[] {
  const references: Reference[] = [];
  try {
    // The call has begun, so an error of a deleter is not its outcome.
    send(operation, subject, null, args, keywords, takeHandle, (_, result) => result, promise, references);
    return references;
  } catch (error) {
    references.forEach(unpinReference);
    throw error;
  }
}

/**
 * Takes a slot, fills its cells, calls native code, and reads the outcome with `take`. It begins only with room on the stack
 * for what takes the result, which an engine may run in larger frames. An asynchronous call has the number of its promise,
 * and a list for the references that it pins.
 */
function send<T>(
  operation: number,
  subject: Reference | null,
  name: string | null,
  args: readonly unknown[],
  keywords: Keywords | null,
  take: Take<T>,
  fail: (error: unknown, result: T) => T = raise,
  promise = 0,
  references: Reference[] | null = null,
): T {
  ensureRoom();
  keepSignalsLater();
  const pairs = keywords === null ? none : Object.entries(keywords.values);
  const count = (subject === null ? 0 : 1) + (name === null ? 0 : 1) + args.length + 2 * pairs.length;
  checkCount(args.length + pairs.length);
  const words = PerformRequest.WORDS + count * Cell.WORDS;
  const mark = beginHolding();
  const slot = enter(operation === Operation.callTensor ? words + TensorResult.WORDS : words);
  const outer = beginExtras(make, references);
  let spill: readonly (string | Uint8Array)[];
  try {
    const cells = PerformRequest.cellsAt(slot);
    let written = 0;
    if (subject !== null) writeReference(Cell.at(cells, written++), subject);
    if (name !== null) writeName(Cell.at(cells, written++), name);
    for (let i = 0; i < args.length; i++) writeArgument(Cell.at(cells, written++), args[i], 0);
    for (let i = 0; i < pairs.length; i++) {
      const [key, value] = pairs[i] as [string, unknown];
      writeName(Cell.at(cells, written++), key);
      writeArgument(Cell.at(cells, written++), value, 0);
    }
  } catch (error) {
    abandon(slot, mark);
    throw error;
  } finally {
    spill = endExtras(outer);
  }
  PerformRequest.setOperation(slot, operation);
  PerformRequest.setCount(slot, count);
  PerformRequest.setKeywords(slot, pairs.length);
  PerformRequest.setSpilled(slot, spill.length);
  PerformRequest.setTensorSlot(slot, Cell.at(PerformRequest.cellsAt(slot), count));
  PerformRequest.setPromise(slot, promise);
  const request = spill.length === 0 ? performNow : () => binding().perform(...spill);
  return conclude(slot, mark, request, take, fail);
}

/** Names of attributes and keywords, interned in Python. They are never released, so their number is limited. */
const interned = new Map<string, number>();
const MAX_NAMES = 4096;

function writeName(word: number, name: string): void {
  let handle = interned.get(name);
  if (handle === undefined) {
    // An asynchronous call must not wait for the operation that interns a name.
    if (interned.size >= MAX_NAMES || isAsyncCall()) {
      writeSpilled(word, ValueKind.string, name);
      return;
    }
    handle = send(Operation.name, null, null, [name], null, takeHandle);
    interned.set(name, handle);
  }
  writeCell(word, ValueKind.handle, handle, 0);
}

/** The result of an operation. */
export function takeOutcome(slot: number, spilled: unknown): unknown {
  switch (Outcome.resultKind(slot)) {
    case ValueKind.handle:
      return inScope(wrapHeld(slot));
    case ValueKind.converter:
      return converterOf(Outcome.resultHandle(slot));
    case ValueKind.bool:
      return Outcome.resultNumber(slot) === 1;
    case ValueKind.int:
    case ValueKind.float:
      return Outcome.resultNumber(slot);
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

/** The proxy of the object in an outcome, which the proxy takes over. */
function wrapHeld(slot: number): object {
  const proxy = wrap(Outcome.resultHandle(slot));
  Outcome.setResultHandle(slot, 0);
  return proxy;
}

/** The handle of the object in an outcome, for the caller to release. */
function takeHandle(slot: number): number {
  const handle = Outcome.resultHandle(slot);
  Outcome.setResultHandle(slot, 0);
  return handle;
}

function takeCallResult(slot: number): Descriptor {
  return takeTensorResult(PerformRequest.tensorSlot(slot));
}

/** The tensor of a {@link TensorResult}. When it is released, the next operation drops the Python object. */
export function takeTensorResult(slot: number): Descriptor {
  const status = TensorResult.status(slot);
  if (status !== Status.ok) throw errorOfTensor(status, TensorResult.tensorAt(slot));
  return takeTensor(TensorResult.tensorAt(slot), makeStorage);
}

/** The exception of a request that failed. */
function toError(slot: number, raised: unknown): PythonError {
  const { type, message, traceback = '' } = raised as Record<'type' | 'message' | 'traceback', string>;
  if (!isHeld(slot)) return new PythonError(type, message, traceback, null);
  const cause = causeOf(type, Outcome.resultHandle(slot));
  return new PythonError(type, message, traceback, wrapHeld(slot), cause);
}

/** The exception of an asynchronous call. `exception` is a handle, or 0. */
export function makeError(
  type: string,
  message: string,
  traceback: string,
  exception: number,
  caller?: Error,
): PythonError {
  if (exception === 0) return new PythonError(type, message, traceback, null, { caller });
  const cause = causeOf(type, exception);
  return new PythonError(type, message, traceback, wrap(exception), { ...cause, caller });
}
