/** Arguments for Python: writes values into cells of the wire, and collects the values that do not fit into cells. */

import { ensureRoom } from '../../base/stack.js';
import { ArgumentTypeError, ArgumentValueError } from '../../errors.js';
import { fromDLPack } from '../../from-dlpack.js';
import { inNativeMemory, placeOf } from '../../native/exchange/export.js';
import { Wire } from '../../native/wire/constants.js';
import { endsBeyondHalf, enter } from '../../native/wire/wire.js';
import { WireHeader } from '../../native/wire/wire-layout.js';
import { adaptArgument } from '../../protocol/adapters.js';
import { DLPACK, type DLPackSource } from '../../protocol/managed.js';
import type { Descriptor } from '../../storage/descriptor.js';
import { descriptorOf, TensorView } from '../../view.js';
import { findReference, liveHandle, type Reference, release } from '../objects/reference.js';
import { writeCell, writeNumber, writeTensorCell } from '../values/cells.js';
import { Cell, CellList, ValueKind } from '../wire-layout.js';
import { nameOf, numberOf, type PyCallback, pinValue, Thrown, unpinValue } from './functions.js';
import { holdReference, releaseLater } from './held.js';
import { Keywords, PyFloat } from './keywords.js';

/** Strings, digits and bytes that do not fit into the cells of a request, in the order of the cells. */
type Spill = readonly (string | Uint8Array)[];

/** The data of the request that is being written besides its cells. */
interface Extras {
  /** Makes the Python object of a value, by a request of its own. */
  readonly make: (value: unknown) => object;
  spill: Spill;
  /** The references in the cells of an asynchronous call, pinned until the call has settled. Null for other requests. */
  readonly references: Reference[] | null;
}

const noSpill: Spill = [];
/** Null while no request is written. */
let extras: Extras | null = null;

/** Begins to write a request. Returns the argument of {@link endExtras}. */
export function beginExtras(make: (value: unknown) => object, references: Reference[] | null): Extras | null {
  const outer = extras;
  extras = { make, spill: noSpill, references };
  return outer;
}

/** What does not fit into the cells of the request that was written. Returns to the outer request. */
export function endExtras(outer: Extras | null): Spill {
  const { spill: written } = extras as Extras;
  extras = outer;
  return written;
}

/** True while an asynchronous call is being written. It must not wait for another operation. */
export function isAsyncCall(): boolean {
  return extras !== null && extras.references !== null;
}

function spill(value: string | Uint8Array): void {
  const written = extras as Extras;
  if (written.spill === noSpill) written.spill = [value];
  else (written.spill as (string | Uint8Array)[]).push(value);
}

const MAX_ARGUMENTS = 32_000;

/** Throws if one call cannot have so many arguments. */
export function checkCount(count: number): void {
  if (count <= MAX_ARGUMENTS) return;
  throw new ArgumentValueError(
    'arguments',
    `at most ${MAX_ARGUMENTS} values in one call`,
    count,
    'pass them as a list',
  );
}

export function writeSpilled(word: number, kind: number, value: string | Uint8Array): void {
  writeCell(word, kind, 0, 0);
  spill(value);
}

/** Writes a function, or a value that a function threw. */
function writeFunction(word: number, value: PyCallback | Thrown): void {
  const name = nameOf(value); // first, because it may run user code
  const number = numberOf(value);
  ensureRoom();
  const pin = pinValue(number);
  // Native code clears the handle of the cell when it takes the pin over. It does not if Python already has an object
  // for the function, or if the request failed earlier.
  releaseLater({ release: () => void (Cell.handle(word) === 0 || unpinValue(number, pin)) });
  spill(name);
  writeCell(word, ValueKind.function, number, pin);
}

/** Writes an object. Its handle stays valid until the request ends, or until an asynchronous call has settled. */
export function writeReference(word: number, reference: Reference): void {
  if (extras !== null && extras.references !== null) {
    writeCell(word, ValueKind.handle, liveHandle(reference), 0);
    reference.pins++;
    extras.references.push(reference);
  } else writeCell(word, ValueKind.handle, holdReference(reference), 0);
}

export function writeArgument(word: number, value: unknown, depth: number): void {
  switch (typeof value) {
    case 'function': {
      const reference = findReference(value);
      if (reference === null) writeFunction(word, value as PyCallback);
      else writeReference(word, reference);
      return;
    }
    case 'number':
      writeNumber(word, value);
      return;
    case 'object':
      if (value instanceof TensorView) writeDescriptor(word, descriptorOf(value));
      else if (value === null) writeCell(word, ValueKind.none, 0, 0);
      else if (value instanceof Uint8Array) writeSpilled(word, ValueKind.bytes, value);
      else if (DLPACK in value) writeShared(word, value as DLPackSource);
      else if (value instanceof PyFloat) writeCell(word, ValueKind.float, 0, value.value);
      else if (value instanceof Thrown) writeFunction(word, value);
      else if (!writeAdapted(word, value)) writeContainer(word, value, depth);
      return;
    case 'string':
      writeSpilled(word, ValueKind.string, value);
      return;
    case 'boolean':
      writeCell(word, ValueKind.bool, 0, value ? 1 : 0);
      return;
    case 'undefined':
      writeCell(word, ValueKind.none, 0, 0);
      return;
    case 'bigint':
      writeSpilled(word, ValueKind.bigInt, value.toString(16)); // Python limits the number of decimal digits
      return;
  }
  throw new ArgumentTypeError('argument', 'a value that Python can take', value);
}

const MAX_DEPTH = 200;

/** Some of the values of a long container. A request has room for them. */
class Part {
  constructor(
    readonly kind: number,
    readonly values: readonly unknown[],
    readonly depth: number,
  ) {}
}

/** The kind of a container, and its elements, or its keys and values by turns; null for other objects. */
function readContainer(value: object): { kind: number; values: readonly unknown[] } | null {
  if (Array.isArray(value)) return { kind: ValueKind.list, values: value };
  if (value instanceof Map) return { kind: ValueKind.dict, values: [...value].flat() };
  if (value instanceof Set) return { kind: ValueKind.set, values: [...value] };
  if (value instanceof Part) return value;
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return null;
  return { kind: ValueKind.dict, values: Object.entries(value).flat() };
}

/** What to do with an object that is not a container. */
function advise(value: object): string {
  if (value instanceof Keywords) return 'keyword arguments are the last argument of a call';
  if (value instanceof ArrayBuffer) return 'pass its bytes: new Uint8Array(buffer)';
  if (value instanceof Date) return 'make a datetime of it: datetime.fromtimestamp(date / 1000)';
  if (!ArrayBuffer.isView(value)) return 'pass an array, a Map, a Set or a plain object';
  return 'pass Tensor.from(array), a copy that Python can write to, or Tensor.adopt(array), which takes the memory over';
}

/** Writes an array, a Set, a Map or a plain object, with new cells at the top of the wire. */
function writeContainer(word: number, value: object, outerDepth: number): void {
  const isPart = value instanceof Part;
  const depth = isPart ? value.depth : outerDepth;
  if (depth === MAX_DEPTH) {
    const expected = `containers nested at most ${MAX_DEPTH} deep`;
    throw new ArgumentValueError('argument', expected, value, 'does one contain itself?');
  }
  const container = readContainer(value);
  if (container === null) throw new ArgumentTypeError('argument', 'a value that Python can take', value, advise(value));
  const { kind, values } = container;
  const count = values.length;
  const words = CellList.WORDS + count * Cell.WORDS;
  if (!isPart && endsBeyondHalf(words)) {
    writeLong(word, new Part(kind, values, depth));
    return;
  }
  const list = enter(words);
  CellList.setCount(list, count);
  const first = CellList.cellsAt(list);
  for (let i = 0; i < count; i++) writeArgument(Cell.at(first, i), values[i], depth + 1);
  writeCell(word, kind, 0, list);
}

/** Python's methods that add the values of another container. */
const METHODS: { readonly [kind: number]: string } = {
  [ValueKind.list]: 'extend',
  [ValueKind.dict]: 'update',
  [ValueKind.set]: 'update',
};

/** How many long containers are being made, each inside another. Each takes several frames of the stack. */
let longDepth = 0;
const MAX_LONG_DEPTH = 32;

/**
 * Makes a container that does not fit into this request, and adds its values by requests of their own. They wait for the
 * GIL, even for an asynchronous call.
 */
function writeLong(word: number, { kind, values, depth }: Part): void {
  if (longDepth === MAX_LONG_DEPTH) {
    const expected = `containers of many values nested at most ${MAX_LONG_DEPTH} deep`;
    throw new ArgumentValueError('argument', expected, `a container of ${values.length}`, 'does one contain itself?');
  }
  const object = (extras as Extras).make(new Part(kind, [], depth)) as { [method: string]: (part: Part) => unknown };
  const reference = findReference(object) as Reference;
  releaseLater({ release: () => release(reference) });
  const add = object[METHODS[kind] as string] as (part: Part) => unknown;
  longDepth++;
  try {
    for (let i = 0; i < values.length; ) {
      // A small part of the free room, because each value may be a tensor, or contain further parts. An even number,
      // because a dict has keys and values.
      const free = Wire.WORDS - WireHeader.top();
      const end = i + Math.max(2, Math.min(1024, (free >> 8) * 2));
      add(new Part(kind, values.slice(i, end), depth));
      i = end;
    }
  } finally {
    longDepth--;
    release(findReference(add) as Reference);
  }
  writeReference(word, reference);
}

/** Writes a tensor as a Python object that shares its memory. JavaScript memory is copied first. */
function writeDescriptor(word: number, descriptor: Descriptor): void {
  const ready = inNativeMemory(descriptor, null);
  if (ready === descriptor) {
    writeTensorCell(word, ready);
  } else {
    releaseLater(ready.storage);
    writeTensorCell(word, ready, placeOf(descriptor) === 'copy');
  }
}

/** Writes any producer of the JavaScript protocol, such as a span or a tensor of another library. */
function writeShared(word: number, producer: DLPackSource): void {
  const tensor = fromDLPack(producer);
  releaseLater({ release: () => tensor.dispose() });
  writeDescriptor(word, descriptorOf(tensor));
}

/** Writes a tensor of a library that has a registered adapter. Returns false for anything else. */
function writeAdapted(word: number, value: object): boolean {
  const descriptor = adaptArgument(value);
  if (descriptor === null) return false;
  releaseLater(descriptor.storage);
  writeDescriptor(word, descriptor);
  return true;
}
