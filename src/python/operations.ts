/**
 * Operations on Python objects: arguments into cells, one call into native code, the result or the error out of them.
 *
 * @module
 */

import { ArgumentTypeError, BufferError } from '../errors.js';
import { fromDLPack } from '../from-dlpack.js';
import { placeOf, withMemory } from '../native/export.js';
import { takeResult as takeTensorResult } from '../native/import.js';
import { enter, leave, wire } from '../native/wire.js';
import { TensorResult, WireHeader } from '../native/wire-layout.js';
import { DLPACK } from '../protocol/managed.js';
import type { Descriptor } from '../storage/descriptor.js';
import type { ImportRequest } from '../storage/foreign.js';
import { descriptorOf, TensorView } from '../view.js';
import { binding } from './binding.js';
import { tooMany, writeCell, writeTensorCell } from './cells.js';
import { JAVASCRIPT_ERROR, PythonError } from './error.js';
import {
  BASE,
  CELLS,
  COUNT,
  FAILED,
  frame,
  HANDLE,
  KEYWORDS,
  OPERATION,
  Operation,
  RESULT_HANDLE,
  RESULT_KIND,
  RESULT_NUMBER,
  SPILLED,
  ValueKind,
} from './frame.js';
import { causeOf, makeCallable } from './functions.js';
import type { Keywords } from './keywords.js';
import { defineProxies, END } from './proxy.js';
import { findReference, liveHandle, type Reference, releaseHandle } from './reference.js';

// Constants of this module, for the reason that frame.ts gives.
const { u32, f64 } = frame;
const { u32: wired } = wire;
const { SLOT, TOP } = WireHeader;
const OwnView = TensorView;
const readDescriptor = descriptorOf;
const findPlace = placeOf;

/** What does not fit into a cell: strings, digits, bytes. */
type Spill = (string | Uint8Array)[];

/** The first free cell. */
let top = 0;
/** Of the operation that is being prepared, in the order of its cells. */
let spill: Spill | null = null;
/** Handles in its cells that were made for it, and that native code takes over with the call. */
let taken: number[] | null = null;

const none: readonly unknown[] = [];

/** A proxy for a handle that native code returned. */
export const wrap = defineProxies({ perform, consume });

/** Runs one operation on an object, if it has one, with a name, arguments and keywords, if it has any. */
export function perform(
  operation: number,
  subject: Reference | null,
  name: string | null = null,
  args: readonly unknown[] = none,
  keywords: Keywords | null = null,
): unknown {
  return takeResult(send(operation, subject, name, args, keywords));
}

/** A call whose result is a tensor. */
export function performTensor(subject: Reference, args: readonly unknown[], keywords: Keywords | null): Descriptor {
  const slot = enter(TensorResult.WORDS);
  try {
    const raised = send(Operation.callTensor, subject, null, args, keywords, slot);
    if (u32[FAILED] === 1) throw toError(raised);
    return takeTensorResult(slot);
  } finally {
    leave(slot);
  }
}

/** A tensor in native memory as an object of a class; undefined when the class needs a copy. */
export function performConversion(type: Reference, descriptor: Descriptor, mayCopy: boolean): unknown {
  const base = top;
  const mark = wired[TOP] as number;
  if (base + 3 > CELLS) throw tooMany(3);
  top = base + 3;
  try {
    writeCell(base, ValueKind.handle, liveHandle(type), 0);
    writeTensorCell(base + 1, descriptor);
    writeCell(base + 2, ValueKind.int, 0, mayCopy ? 1 : 0);
    u32[OPERATION] = Operation.tensor;
    u32[BASE] = base;
    u32[COUNT] = 3;
    u32[KEYWORDS] = 0;
    u32[SPILLED] = 0;
    const result = takeResult(binding().perform());
    return u32[RESULT_KIND] === ValueKind.mustCopy ? undefined : result;
  } finally {
    top = base;
    leave(mark);
  }
}

/** An operation that makes an object: its handle. */
export function make(operation: number, args: readonly unknown[]): number {
  const raised = send(operation, null, null, args, null);
  if (u32[FAILED] === 1) throw toError(raised);
  return u32[RESULT_HANDLE] as number;
}

/** The tensor of a Python object: by its type's exchange API, then versioned, then legacy. */
export function consume(reference: Reference, request: ImportRequest | null): Descriptor {
  const handle = liveHandle(reference);
  if (request === null) u32[COUNT] = 0;
  else {
    const { copy, device, stream } = request;
    const number = stream === null ? 0 : numberOf(stream);
    if (top + 4 > CELLS) throw tooMany(4);
    writeCell(top, ValueKind.int, 0, copy === null ? -1 : copy ? 1 : 0);
    writeCell(top + 1, ValueKind.int, 0, device === null ? 0 : device.type);
    writeCell(top + 2, ValueKind.int, 0, device === null ? 0 : device.id);
    writeCell(top + 3, ValueKind.int, 0, number);
    u32[BASE] = top;
    u32[COUNT] = 4;
  }
  u32[HANDLE] = handle;
  const slot = enter(TensorResult.WORDS);
  try {
    wired[SLOT] = slot;
    const raised = binding().consume();
    if (u32[FAILED] === 1) throw toError(raised);
    return takeTensorResult(slot);
  } finally {
    leave(slot);
  }
}

/** A program may pass anything as the stream. */
function numberOf(stream: unknown): number {
  if (typeof stream === 'bigint' || typeof stream === 'number') return Number(stream);
  throw new ArgumentTypeError('stream', 'a bigint or null', stream);
}

/** Fills cells and calls. `slot` is for a result that is a tensor. */
function send(
  operation: number,
  subject: Reference | null,
  name: string | null,
  args: readonly unknown[],
  keywords: Keywords | null,
  slot = 0,
): unknown {
  const pairs = keywords === null ? none : Object.entries(keywords.values);
  const count = args.length;
  const base = top;
  const first = base + (subject === null ? 0 : 1) + (name === null ? 0 : 1);
  const end = first + count + 2 * pairs.length;
  if (end > CELLS) throw tooMany(count + pairs.length);
  const mark = wired[TOP] as number;
  const outerSpill = spill;
  const outerTaken = taken;
  top = end;
  spill = null;
  taken = null;
  try {
    if (subject !== null) writeCell(base, ValueKind.handle, liveHandle(subject), 0);
    if (name !== null) writeName(first - 1, name);
    for (let i = 0; i < count; i++) writeArgument(first + i, args[i]);
    for (let i = 0; i < pairs.length; i++) {
      const [key, value] = pairs[i] as [string, unknown];
      writeName(first + count + 2 * i, key);
      writeArgument(first + count + 2 * i + 1, value);
    }
    u32[OPERATION] = operation;
    u32[BASE] = base;
    u32[COUNT] = end - base;
    u32[KEYWORDS] = pairs.length;
    const ready = spill as Spill | null;
    u32[SPILLED] = ready === null ? 0 : ready.length;
    wired[SLOT] = slot;
    taken = null; // native code has them now
    return ready === null ? binding().perform() : binding().perform(...ready);
  } finally {
    if (taken !== null) releaseAll(taken);
    top = base;
    leave(mark);
    spill = outerSpill;
    taken = outerTaken;
  }
}

function releaseAll(handles: readonly number[]): void {
  for (let i = 0; i < handles.length; i++) releaseHandle(handles[i] as number);
}

function writeSpilled(index: number, kind: number, value: string | Uint8Array): void {
  writeCell(index, kind, 0, 0);
  spill ??= [];
  spill.push(value);
}

/** A handle that was made for this operation. */
function writeTaken(index: number, handle: number): void {
  writeCell(index, ValueKind.taken, handle, 0);
  taken ??= [];
  taken.push(handle);
}

function writeArgument(index: number, value: unknown): void {
  switch (typeof value) {
    case 'function': {
      const reference = findReference(value);
      if (reference === null) writeTaken(index, makeCallable(value as (...args: never[]) => unknown));
      else writeCell(index, ValueKind.handle, liveHandle(reference), 0);
      return;
    }
    case 'number': {
      // -0 is a float, and so is everything that a 64-bit integer does not hold exactly.
      const isInteger = Number.isSafeInteger(value) && !Object.is(value, -0);
      writeCell(index, isInteger ? ValueKind.int : ValueKind.float, 0, value);
      return;
    }
    case 'object':
      if (value instanceof OwnView) writeTensor(index, readDescriptor(value));
      else if (value === null) writeCell(index, ValueKind.none, 0, 0);
      else if (value instanceof Uint8Array) writeSpilled(index, ValueKind.bytes, value);
      else if (DLPACK in value) writeShared(index, value);
      else writeTaken(index, makeContainer(value));
      return;
    case 'string':
      writeSpilled(index, ValueKind.string, value);
      return;
    case 'boolean':
      writeCell(index, ValueKind.bool, 0, value ? 1 : 0);
      return;
    case 'undefined':
      writeCell(index, ValueKind.none, 0, 0);
      return;
    case 'bigint':
      writeSpilled(index, ValueKind.bigint, value.toString(16)); // base 16: Python limits the digits of others
      return;
  }
  throw new ArgumentTypeError('argument', 'a value that Python can take', value);
}

function makeContainer(value: object): number {
  if (Array.isArray(value)) return make(Operation.list, value);
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    throw new ArgumentTypeError('argument', 'a value that Python can take', value);
  }
  return make(Operation.dict, Object.entries(value).flat());
}

/** Names of attributes and keywords, as strings that Python has interned. They stay, so there is a limit. */
const interned = new Map<string, number>();
const MAX_NAMES = 4096;

function writeName(index: number, name: string): void {
  let handle = interned.get(name);
  if (handle === undefined) {
    if (interned.size >= MAX_NAMES) {
      writeSpilled(index, ValueKind.string, name);
      return;
    }
    handle = make(Operation.name, [name]);
    interned.set(name, handle);
  }
  writeCell(index, ValueKind.handle, handle, 0);
}

/** A tensor as a Python object that owns a reference to its memory; JavaScript memory is copied for it. */
function writeTensor(index: number, descriptor: Descriptor): void {
  if (findPlace(descriptor) === 'native') writeTensorCell(index, descriptor);
  else {
    const makeTensor = (ready: Descriptor): number => make(Operation.tensor, [new TensorView(ready)]);
    writeTaken(index, withMemory(descriptor, null, makeTensor));
  }
}

/** Any producer of the JavaScript protocol: spans, tensors of other libraries. */
function writeShared(index: number, producer: object): void {
  const tensor = fromDLPack(producer);
  try {
    writeTaken(index, make(Operation.tensor, [tensor]));
  } finally {
    tensor.dispose();
  }
}

/** The result of an operation; `spilled` is what did not fit into its cell. */
export function takeResult(spilled: unknown): unknown {
  if (u32[FAILED] === 1) throw toError(spilled);
  switch (u32[RESULT_KIND]) {
    case ValueKind.handle:
      return wrap(u32[RESULT_HANDLE] as number);
    case ValueKind.bool:
      return f64[RESULT_NUMBER] === 1;
    case ValueKind.int:
    case ValueKind.float:
      return f64[RESULT_NUMBER];
    case ValueKind.string:
    case ValueKind.bytes:
      return spilled;
    case ValueKind.bigint:
      return toBigInt(spilled as string);
    case ValueKind.end:
      return END;
    default:
      return null;
  }
}

/** Digits as Python writes them: `-0xff`. */
function toBigInt(digits: string): bigint {
  try {
    return digits.startsWith('-') ? -BigInt(digits.slice(1)) : BigInt(digits);
  } catch (cause) {
    throw new BufferError('This Python int is too long for a JavaScript bigint; work with it in Python', { cause });
  }
}

/** A value that native code gave as its kind and a number or text, outside of the frame. */
export function toValue(kind: number, value: unknown): unknown {
  switch (kind) {
    case ValueKind.handle:
      return wrap(value as number);
    case ValueKind.none:
      return null;
    case ValueKind.bool:
      return value === 1;
    case ValueKind.bigint:
      return toBigInt(value as string);
    default:
      return value;
  }
}

/** The exception of an operation that failed. */
export function toError(raised: unknown): PythonError {
  const { type, message, traceback = '' } = raised as Record<'type' | 'message' | 'traceback', string>;
  const handle = u32[RESULT_KIND] === ValueKind.handle ? (u32[RESULT_HANDLE] as number) : 0;
  return makeError(type, message, traceback, handle);
}

/** `exception` is a handle, or 0. Where the exception stands for what a JavaScript function threw, that is its cause. */
export function makeError(type: string, message: string, traceback: string, exception: number): PythonError {
  if (exception === 0) return new PythonError(type, message, traceback, null);
  const cause = type === JAVASCRIPT_ERROR ? causeOf(exception) : undefined;
  return new PythonError(type, message, traceback, wrap(exception), cause);
}
