/**
 * Containers in both directions, of any length and depth. Neither direction recurses, and both use only a bounded part
 * of the wire.
 */

import { ArgumentValueError } from '../errors.js';
import { wire } from '../native/wire.js';
import { WireHeader } from '../native/wire-layout.js';
import { DLPACK, DLPACK_DEVICE } from '../protocol/managed.js';
import { Tensor } from '../tensor.js';
import { ANY_WORDS, checkKept, payloadAt, Type, typeAt, writeAny } from './any.js';
import { appendToBatch } from './batches.js';
import { operations } from './call-operations.js';
import { takeRaised } from './errors.js';
import { ffi } from './library.js';
import { callState, disown, keepForCall, releaseTemporaries, standIns, TemporaryObject } from './objects.js';
import { enter, leave } from './slot.js';
import { Shape, TVM_FFI_VALUE } from './values.js';
import { ContainerRequest, EntriesRequest, SequenceRequest, ValueRequest } from './wire-layout.js';

const { f64, i32, u32 } = wire;

/** The most values that one container has on the wire at a time. More elements are moved to a native batch. */
const CHUNK = 64;
/** Levels of nesting that have their own room on the wire. Deeper levels share the room of their parents. */
const SPREAD_DEPTH = 12;
/** Native code destroys nested containers recursively, and would run out of stack far beyond this. */
const MAX_DEPTH = 10_000;

/** The native class of a JavaScript value, and its elements. Keys and values of a map alternate. */
export interface Container {
  readonly type: number;
  readonly values: readonly unknown[];
}

/** The value as a container, or null. */
export function containerOf(value: object): Container | null {
  // First, because reading a property of a module's proxy would look up a function.
  if (standIns.has(value)) return null;
  if (Array.isArray(value)) return { type: Type.array, values: value };
  if (value instanceof Map) return { type: Type.map, values: [...value].flat() };
  if (value instanceof Shape) return { type: Type.shape, values: value.dims };
  return isRecord(value) ? { type: Type.map, values: Object.entries(value).flat() } : null;
}

/** True for a plain object, unless it represents a tensor or another value. */
function isRecord(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  return !(DLPACK in value || '__dlpack__' in value || TVM_FFI_VALUE in value || DLPACK_DEVICE in value);
}

/** A container that is being made. */
interface Building {
  readonly parent: Building | null;
  readonly type: number;
  readonly values: readonly unknown[];
  readonly length: number;
  readonly depth: number;
  /** The word of the first of `capacity` values. */
  readonly base: number;
  readonly capacity: number;
  /** The number of temporaries before this container. */
  readonly mark: number;
  /** The next element to write. */
  next: number;
  /** Values in use. */
  count: number;
  /** The reference to the batch with the elements that were moved from the wire; 0 when there is none. */
  batch: number;
}

function begin({ type, values }: Container, parent: Building | null): Building {
  const depth = parent === null ? 0 : parent.depth + 1;
  if (depth > MAX_DEPTH) {
    throw new ArgumentValueError('an argument', `containers nested at most ${MAX_DEPTH} deep`, 'one that is deeper');
  }
  const { length } = values;
  const isShared = parent !== null && depth > SPREAD_DEPTH;
  if (isShared) {
    flush(parent);
    leave(parent.base);
  }
  const capacity = isShared ? CHUNK : Math.min(length, CHUNK);
  const base = enter(capacity * ANY_WORDS);
  const mark = callState.temporaries.length;
  return { parent, type, values, length, depth, base, capacity, mark, next: 0, count: 0, batch: 0 };
}

/** Moves the elements on the wire to the batch, and releases the temporaries that were made for them. */
function flush(building: Building): void {
  if (building.count === 0) return;
  building.batch = appendToBatch(building.batch, building.base, building.count);
  building.count = 0;
  releaseTemporaries(building.mark);
  u32[WireHeader.TOP] = building.base + building.capacity * ANY_WORDS;
}

/** The word for the next element. */
function nextValue(building: Building): number {
  if (building.count === building.capacity) flush(building);
  return building.base + building.count++ * ANY_WORDS;
}

/** Makes the container and keeps it until the call ends. Returns its address. */
function finish(building: Building): number {
  if (building.batch !== 0) flush(building);
  const { base, count, type, mark, batch, parent } = building;
  const slot = enter(ContainerRequest.WORDS);
  const half = slot * 2;
  i32[half + ContainerRequest.TYPE] = type;
  u32[half + ContainerRequest.BATCH] = batch;
  u32[half + ContainerRequest.VALUES] = base;
  i32[half + ContainerRequest.COUNT] = count;
  u32[WireHeader.SLOT] = slot;
  ffi.makeContainer();
  if (i32[half + ContainerRequest.STATUS] !== 0) throw takeRaised();
  const reference = u32[half + ContainerRequest.REFERENCE] as number;
  const pointer = f64[slot + ContainerRequest.OBJECT] as number;
  try {
    releaseTemporaries(mark); // the container has its own references
    building.batch = 0;
    if (batch !== 0) disown(batch);
  } finally {
    // A parent that shares its room with this container takes the room back.
    u32[WireHeader.TOP] = parent !== null && parent.base === base ? base + parent.capacity * ANY_WORDS : base;
    keepForCall(new TemporaryObject(reference));
  }
  return pointer;
}

/** After an error: releases the temporaries of a container and its parents. */
function abandon(innermost: Building): void {
  let outermost = innermost;
  for (let building: Building | null = innermost; building !== null; building = building.parent) {
    if (building.batch !== 0) disown(building.batch);
    outermost = building;
  }
  try {
    releaseTemporaries(outermost.mark);
  } finally {
    leave(outermost.base);
  }
}

/** Makes a container as the value at a word, until the call ends. `write` writes elements that are not containers. */
export function writeContainer(at: number, container: Container, write: (at: number, value: unknown) => void): void {
  let building = begin(container, null);
  try {
    for (;;) {
      if (building.next < building.length) {
        const value = building.values[building.next++];
        const isLeaf = typeof value !== 'object' || value === null || value instanceof Tensor;
        const nested = isLeaf ? null : containerOf(value);
        if (nested !== null) {
          // Before the nested container is made, because moving elements releases all temporaries made for them.
          if (building.count === building.capacity) flush(building);
          building = begin(nested, building);
          continue;
        }
        const element = nextValue(building);
        write(element, value);
        checkKept(element, 'inside of a container');
        continue;
      }
      const { parent, type } = building;
      const pointer = finish(building);
      if (parent === null) {
        writeAny(at, type, pointer);
        return;
      }
      building = parent;
      writeAny(nextValue(building), type, pointer);
    }
  } catch (error) {
    abandon(building);
    throw error;
  }
}

/** A native container with a reference, and the array or map for its elements. */
interface Unread {
  readonly pointer: number;
  /** The number of the reference. */
  readonly number: number;
  readonly target: unknown[] | Map<unknown, unknown>;
}

/** Reads the value at a word. The caller keeps the object of the value alive. */
type Take = (at: number) => unknown;

/** Makes a reference to the object of the value at a word. */
export function retain(at: number): number {
  const slot = enter(ValueRequest.WORDS);
  u32[slot * 2 + ValueRequest.VALUE] = at;
  u32[WireHeader.SLOT] = slot;
  ffi.take();
  leave(slot);
  if (i32[slot * 2 + ValueRequest.STATUS] !== 0) throw takeRaised();
  return u32[slot * 2 + ValueRequest.REFERENCE] as number;
}

function makeUnread(pointer: number, type: number, number: number): Unread {
  return { pointer, number, target: type === Type.map ? new Map() : [] };
}

/** Reads the container of the reference `number`, and the containers inside it, and releases it. */
export function readContainer(pointer: number, type: number, number: number): Unread['target'] {
  const root = makeUnread(pointer, type, number);
  const unread: Unread[] = [];
  /** A container becomes an array or map that is filled later. */
  const take: Take = (at) => {
    const inner = i32[typeAt(at)] as number;
    if (inner !== Type.array && inner !== Type.map) return operations.takeValue(at);
    const found = makeUnread(f64[payloadAt(at)] as number, inner, retain(at));
    unread.push(found);
    return found.target;
  };
  try {
    for (let next: Unread | undefined = root; next !== undefined; next = unread.pop()) {
      try {
        if (Array.isArray(next.target)) readElements(next.pointer, next.target, take);
        else readEntries(next.pointer, next.target, take);
      } finally {
        disown(next.number);
      }
    }
  } finally {
    // After an error: the containers that were not read.
    for (const left of unread) disown(left.number);
  }
  return root.target;
}

/** Reads the elements of an Array that the call copied above all slots. None of them is an object. */
export function readCopied(count: number): unknown[] {
  const slot = enter(count * ANY_WORDS);
  const elements: unknown[] = [];
  for (let i = 0; i < count; i++) elements.push(operations.takeValue(slot + i * ANY_WORDS));
  leave(slot);
  return elements;
}

/** Asks for elements of an Array, List or Shape after the request in a slot. Returns how many of `count` there are. */
function readSequence(slot: number, pointer: number, start: number, count: number): number {
  const half = slot * 2;
  f64[slot + SequenceRequest.OBJECT] = pointer;
  u32[half + SequenceRequest.START] = start;
  u32[half + SequenceRequest.VALUES] = slot + SequenceRequest.WORDS;
  i32[half + SequenceRequest.COUNT] = count;
  u32[WireHeader.SLOT] = slot;
  ffi.readSequence();
  return i32[half + SequenceRequest.COUNT] as number;
}

/** The number of elements of an Array, List or Shape. */
export function countElements(pointer: number): number {
  const slot = enter(SequenceRequest.WORDS);
  readSequence(slot, pointer, 0, 0);
  leave(slot);
  return f64[slot + SequenceRequest.SIZE] as number;
}

/** Reads one element of an Array, List or Shape; undefined when there is none. `asView`: an Array or Map is a view. */
export function readElement(pointer: number, index: number, asView: boolean): unknown {
  const slot = enter(SequenceRequest.WORDS + ANY_WORDS);
  const isThere = readSequence(slot, pointer, index, 1) !== 0;
  try {
    if (!isThere) return undefined;
    const at = slot + SequenceRequest.WORDS;
    // Two calls, because V8 inlines a call that always has the same target.
    return asView ? operations.takeView(at) : operations.takeValue(at);
  } finally {
    leave(slot);
  }
}

/** Reads the elements of an Array, List or Shape in chunks. */
export function readElements(pointer: number, target: unknown[], take: Take): void {
  const slot = enter(SequenceRequest.WORDS + CHUNK * ANY_WORDS);
  const values = slot + SequenceRequest.WORDS;
  try {
    for (let written = CHUNK; written === CHUNK; ) {
      written = readSequence(slot, pointer, target.length, CHUNK);
      for (let i = 0; i < written; i++) target.push(take(values + i * ANY_WORDS));
    }
  } finally {
    leave(slot);
  }
}

/** Reads the entries of a Map or Dict. */
export function readEntries(pointer: number, target: Map<unknown, unknown>, take: Take): void {
  walkEntries(pointer, (key, value) => {
    const taken = take(key);
    target.set(taken, take(value));
  });
}

/**
 * Visits the words of the keys and values of a Map or Dict. Its layout is private to the library, so the library's
 * functions walk it.
 */
export function walkEntries(pointer: number, visit: (key: number, value: number) => void): void {
  const slot = enter(EntriesRequest.WORDS + CHUNK * ANY_WORDS);
  const half = slot * 2;
  const values = slot + EntriesRequest.WORDS;
  let iterator = 0;
  try {
    f64[slot + EntriesRequest.OBJECT] = pointer;
    u32[WireHeader.SLOT] = slot;
    ffi.iterateEntries();
    if (i32[half + EntriesRequest.STATUS] !== 0) throw takeRaised();
    iterator = u32[half + EntriesRequest.ITERATOR] as number;
    for (let isLast = iterator === 0; !isLast; ) {
      u32[half + EntriesRequest.VALUES] = values;
      i32[half + EntriesRequest.COUNT] = CHUNK / 2;
      u32[WireHeader.SLOT] = slot;
      ffi.readEntries();
      if (i32[half + EntriesRequest.STATUS] !== 0) throw takeRaised();
      isLast = u32[half + EntriesRequest.IS_LAST] !== 0;
      const written = i32[half + EntriesRequest.COUNT] as number;
      for (let i = 0; i < written; i++) {
        visit(values + 2 * i * ANY_WORDS, values + (2 * i + 1) * ANY_WORDS);
      }
    }
  } finally {
    leave(slot);
    if (iterator !== 0) disown(iterator);
  }
}
