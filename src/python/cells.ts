/**
 * Operations on Python objects: arguments into cells, one call into native code, the result out of them.
 *
 * @module
 */

import { ArgumentTypeError, ArgumentValueError } from '../errors.js';
import { fromDLPack } from '../from-dlpack.js';
import { isDebug, recordExport } from '../native/debug.js';
import { placeOf, withMemory } from '../native/export.js';
import { takeImport } from '../native/import.js';
import type { NativeStorage } from '../native/native-storage.js';
import { checkStatus } from '../native/status.js';
import { DLPACK } from '../protocol/managed.js';
import type { Descriptor } from '../storage/descriptor.js';
import { descriptorOf, TensorView } from '../view.js';
import { binding } from './binding.js';
import {
  BASE,
  CELLS,
  COUNT,
  FAILED,
  FIRST_KIND,
  FIRST_NUMBER,
  FIRST_WORD,
  frame,
  KEYWORDS,
  Kind,
  OPERATION,
  Operation,
  RESULT_KIND,
  TENSOR_WORDS,
  TEXTS,
  WORDS,
} from './frame.js';
import type { Keywords } from './keywords.js';
import { findReference, liveHandle, type Reference, releaseHandle } from './reference.js';
import { takeHandle, takeResult, toError } from './results.js';

// Constants of this module, for the reason that frame.ts gives.
const { u32, i32, f64 } = frame;
const OwnView = TensorView;
const readDescriptor = descriptorOf;
const findPlace = placeOf;

/** The first free cell and the first free word. */
let top = 0;
let wordsTop = 0;
/** What does not fit into the cells of the operation that is being prepared, in order. */
let texts: (string | Uint8Array)[] | null = null;
/** Handles in its cells that were made for it, and that native code takes over with the call. */
let taken: number[] | null = null;

const none: readonly unknown[] = [];

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

/** A call whose result is a tensor, which native code leaves in the exchange frame. */
export function performTensor(subject: Reference, args: readonly unknown[], keywords: Keywords | null): Descriptor {
  const raised = send(Operation.callTensor, subject, null, args, keywords);
  if (u32[FAILED] === 1) throw toError(raised);
  checkStatus();
  return takeImport();
}

/** A tensor in native memory as an object of a class, without the detour over arguments; undefined when the class needs a copy. */
export function performConversion(type: Reference, descriptor: Descriptor, mayCopy: boolean): unknown {
  const base = top;
  const words = wordsTop;
  if (base + 3 > CELLS) throw tooMany(3);
  top = base + 3;
  try {
    writeCell(base, Kind.handle, liveHandle(type), 0);
    writeWords(base + 1, descriptor);
    writeCell(base + 2, Kind.int, 0, mayCopy ? 1 : 0);
    u32[OPERATION] = Operation.tensor;
    u32[BASE] = base;
    u32[COUNT] = 3;
    u32[KEYWORDS] = 0;
    u32[TEXTS] = 0;
    const result = takeResult(binding().do());
    return u32[RESULT_KIND] === Kind.mustCopy ? undefined : result;
  } finally {
    top = base;
    wordsTop = words;
  }
}

/** The result of a call without arguments as a number in the native table; 0 when it is no object. */
export function callForHandle(subject: Reference): number {
  const handle = takeHandle(send(Operation.call, subject, null, none, null));
  return u32[RESULT_KIND] === Kind.handle ? handle : 0;
}

let makeCallable: (target: (...args: never[]) => unknown) => number;

/** Called by the module that makes callables of functions, which is above this one: the handle of a new reference to one. */
export function setMakeCallable(make: typeof makeCallable): void {
  makeCallable = make;
}

/** The same for an operation that makes an object: its number in the native table. */
export function make(operation: number, args: readonly unknown[]): number {
  return takeHandle(send(operation, null, null, args, null));
}

/** Fills cells and calls. */
function send(
  operation: number,
  subject: Reference | null,
  name: string | null,
  args: readonly unknown[],
  keywords: Keywords | null,
): unknown {
  const pairs = keywords === null ? none : Object.entries(keywords.values);
  const count = args.length;
  const base = top;
  const first = base + (subject === null ? 0 : 1) + (name === null ? 0 : 1);
  const end = first + count + 2 * pairs.length;
  if (end > CELLS) throw tooMany(count + pairs.length);
  const words = wordsTop;
  const outerTexts = texts;
  const outerTaken = taken;
  top = end;
  texts = null;
  taken = null;
  try {
    if (subject !== null) writeCell(base, Kind.handle, liveHandle(subject), 0);
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
    const ready = texts as (string | Uint8Array)[] | null;
    u32[TEXTS] = ready === null ? 0 : ready.length;
    taken = null; // native code has them now
    return ready === null ? binding().do() : binding().do(...ready);
  } finally {
    if (taken !== null) releaseAll(taken);
    top = base;
    wordsTop = words;
    texts = outerTexts;
    taken = outerTaken;
  }
}

function releaseAll(handles: readonly number[]): void {
  for (let i = 0; i < handles.length; i++) releaseHandle(handles[i] as number);
}

function tooMany(count: number): ArgumentValueError {
  return new ArgumentValueError('arguments', `at most ${CELLS} of them at once; pass many numbers as a Tensor`, count);
}

function writeCell(index: number, kind: number, handle: number, number: number): void {
  const at = FIRST_KIND + index * 4;
  u32[at] = kind;
  u32[at + 1] = handle;
  f64[FIRST_NUMBER + index * 2] = number;
}

/** Three numbers for an operation that reads them before anything else can run. */
export function writeNumbers(a: number, b: number, c: number, d: number): void {
  if (top + 4 > CELLS) throw tooMany(4);
  writeCell(top, Kind.int, 0, a);
  writeCell(top + 1, Kind.int, 0, b);
  writeCell(top + 2, Kind.int, 0, c);
  writeCell(top + 3, Kind.int, 0, d);
  u32[BASE] = top;
  u32[COUNT] = 4;
}

function writeText(index: number, kind: number, text: string | Uint8Array): void {
  writeCell(index, kind, 0, 0);
  texts ??= [];
  texts.push(text);
}

/** A handle that was made for this operation. */
function writeTaken(index: number, handle: number): void {
  writeCell(index, Kind.taken, handle, 0);
  taken ??= [];
  taken.push(handle);
}

function writeArgument(index: number, value: unknown): void {
  switch (typeof value) {
    case 'function': {
      const reference = findReference(value);
      if (reference === null) writeTaken(index, makeCallable(value as (...args: never[]) => unknown));
      else writeCell(index, Kind.handle, liveHandle(reference), 0);
      return;
    }
    case 'number': {
      // -0 is a float, and so is everything that a 64-bit integer does not hold exactly.
      const isInteger = Number.isSafeInteger(value) && !Object.is(value, -0);
      writeCell(index, isInteger ? Kind.int : Kind.float, 0, value);
      return;
    }
    case 'object':
      if (value instanceof OwnView) writeTensor(index, readDescriptor(value));
      else if (value === null) writeCell(index, Kind.none, 0, 0);
      else if (value instanceof Uint8Array) writeText(index, Kind.bytes, value);
      else if (DLPACK in value) writeShared(index, value);
      else writeTaken(index, makeContainer(value));
      return;
    case 'string':
      writeText(index, Kind.string, value);
      return;
    case 'boolean':
      writeCell(index, Kind.bool, 0, value ? 1 : 0);
      return;
    case 'undefined':
      writeCell(index, Kind.none, 0, 0);
      return;
    case 'bigint':
      writeText(index, Kind.bigint, String(value));
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
      writeText(index, Kind.string, name);
      return;
    }
    handle = make(Operation.name, [name]);
    interned.set(name, handle);
  }
  writeCell(index, Kind.handle, handle, 0);
}

/** A tensor as an object of Python that owns a reference to its memory; JavaScript memory is copied for it. */
function writeTensor(index: number, descriptor: Descriptor): void {
  if (findPlace(descriptor) === 'native') writeWords(index, descriptor);
  else {
    const makeTensor = (ready: Descriptor): number => make(Operation.tensor, [new TensorView(ready)]);
    writeTaken(index, withMemory(descriptor, null, makeTensor));
  }
}

function writeWords(index: number, descriptor: Descriptor): void {
  const trace = isDebug() ? recordExport() : 0; // first: it may run user code that hooks stack traces
  const { device, shape, strides } = descriptor;
  const ndim = shape.length;
  const word = wordsTop;
  wordsTop = word + TENSOR_WORDS + 2 * ndim;
  if (wordsTop > WORDS) throw tooMany(index);
  const at = FIRST_WORD + word;
  f64[at] = descriptor.bitOffset / 8;
  f64[at + 1] = trace;
  u32[at * 2 + 4] = descriptor.dtype.packed;
  i32[at * 2 + 5] = ndim;
  i32[at * 2 + 6] = device.type;
  i32[at * 2 + 7] = device.id;
  u32[at * 2 + 8] = descriptor.flags;
  u32[at * 2 + 9] = device.isAddressable ? 1 : 0;
  for (let i = 0; i < ndim; i++) {
    f64[at + TENSOR_WORDS + i] = shape[i] as number;
    f64[at + TENSOR_WORDS + ndim + i] = strides[i] as number;
  }
  writeCell(index, Kind.tensor, (descriptor.storage as NativeStorage).handle, word);
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
