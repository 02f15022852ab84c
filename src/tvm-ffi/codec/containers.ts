/**
 * Containers in both directions, of any length and depth. Neither direction recurses, and both use only a bounded part
 * of the wire.
 */

import { ArgumentValueError } from '../../errors.js';
import { enter, leave } from '../../native/wire/wire.js';
import { WireHeader } from '../../native/wire/wire-layout.js';
import { DLPACK, DLPACK_DEVICE } from '../../protocol/managed.js';
import { Tensor } from '../../tensor.js';
import { HeldReference, hold, releaseHeld, running } from '../calls/held.js';
import { ffi } from '../library.js';
import { orRaised, takeRaised } from '../objects/errors.js';
import { disown, standIns } from '../objects/objects.js';
import { Any, ContainerRequest, SequenceRequest, ValueRequest } from '../wire-layout.js';
import { checkKept, Type, writeAny } from './any.js';
import { appendToBatch } from './batches.js';
import { Shape, TVM_FFI_VALUE } from './values.js';

/** The most values that one container has on the wire at a time. More elements are moved to a native batch. */
const CHUNK = 64;
/** Levels of nesting that have their own room on the wire. Deeper levels share the room of their parents. */
const SPREAD_DEPTH = 12;
/**
 * Native code follows nested values recursively. A level takes up to five kilobytes of the stack, so this many take a
 * quarter of a worker's stack.
 */
export const MAX_DEPTH = 200;

/** The native class of a JavaScript value, and its elements. Keys and values of a map alternate. */
export interface Container {
  readonly type: number;
  readonly values: readonly unknown[];
}

/** True for a value that becomes a native container. */
export function becomesContainer(value: object): boolean {
  // First, because reading a property of a module's proxy would look up a function.
  if (standIns.has(value)) return false;
  return Array.isArray(value) || value instanceof Map || value instanceof Shape || isRecord(value);
}

/** The value as a container, or null. */
export function containerOf(value: object): Container | null {
  if (!becomesContainer(value)) return null;
  if (Array.isArray(value)) return { type: Type.array, values: value };
  if (value instanceof Map) return { type: Type.map, values: [...value].flat() };
  if (value instanceof Shape) return { type: Type.shape, values: value.dims };
  return { type: Type.map, values: Object.entries(value).flat() };
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
  const base = enter(capacity * Any.WORDS);
  const mark = running.held.length;
  return { parent, type, values, length, depth, base, capacity, mark, next: 0, count: 0, batch: 0 };
}

/** Moves the elements on the wire to the batch, and releases the temporaries that were made for them. */
function flush(building: Building): void {
  if (building.count === 0) return;
  building.batch = appendToBatch(building.batch, building.base, building.count);
  building.count = 0;
  releaseHeld(building.mark);
  WireHeader.setTop(Any.at(building.base, building.capacity));
}

/** The word for the next element. */
function nextValue(building: Building): number {
  if (building.count === building.capacity) flush(building);
  return Any.at(building.base, building.count++);
}

/** Makes the container and keeps it until the call ends. Returns its address. */
function finish(building: Building): number {
  if (building.batch !== 0) flush(building);
  const { base, count, type, mark, batch, parent } = building;
  const slot = enter(ContainerRequest.WORDS);
  ContainerRequest.setType(slot, type);
  ContainerRequest.setBatch(slot, batch);
  ContainerRequest.setValues(slot, base);
  ContainerRequest.setCount(slot, count);
  WireHeader.setSlot(slot);
  ffi.makeContainer();
  if (ContainerRequest.status(slot) !== 0) throw takeRaised();
  const reference = ContainerRequest.reference(slot);
  const pointer = ContainerRequest.object(slot);
  try {
    releaseHeld(mark); // the container has its own references
    building.batch = 0;
    if (batch !== 0) disown(batch);
  } finally {
    // A parent that shares its room with this container takes the room back.
    WireHeader.setTop(parent !== null && parent.base === base ? Any.at(base, parent.capacity) : base);
    hold(new HeldReference(reference));
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
    releaseHeld(outermost.mark);
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
export type Take = (at: number) => unknown;

/** Makes a reference to the object of the value at a word. */
export function retain(at: number): number {
  const slot = enter(ValueRequest.WORDS);
  ValueRequest.setValue(slot, at);
  WireHeader.setSlot(slot);
  ffi.take();
  leave(slot);
  if (ValueRequest.status(slot) !== 0) throw takeRaised();
  return ValueRequest.reference(slot);
}

function makeUnread(pointer: number, type: number, number: number): Unread {
  return { pointer, number, target: type === Type.map ? new Map() : [] };
}

/** Reads the container of the reference `number`, and the containers inside it, and releases it. `takeValue` reads the others. */
export function readContainer(pointer: number, type: number, number: number, takeValue: Take): Unread['target'] {
  const root = makeUnread(pointer, type, number);
  const unread: Unread[] = [];
  /** A container becomes an array or map that is filled later. */
  const take: Take = (at) => {
    const inner = Any.type(at);
    if (inner !== Type.array && inner !== Type.map) return takeValue(at);
    const found = makeUnread(Any.payload(at), inner, retain(at));
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
export function readCopied(count: number, take: Take): unknown[] {
  const slot = enter(count * Any.WORDS);
  const elements: unknown[] = [];
  for (let i = 0; i < count; i++) elements.push(take(Any.at(slot, i)));
  leave(slot);
  return elements;
}

/** Asks for elements of an Array, List or Shape after the request in a slot. Returns how many of `count` there are. */
function readSequence(slot: number, pointer: number, start: number, count: number): number {
  SequenceRequest.setObject(slot, pointer);
  SequenceRequest.setStart(slot, start);
  SequenceRequest.setValues(slot, SequenceRequest.end(slot));
  SequenceRequest.setCount(slot, count);
  WireHeader.setSlot(slot);
  ffi.readSequence();
  return SequenceRequest.count(slot);
}

/** The number of elements of an Array, List or Shape. */
export function countElements(pointer: number): number {
  const slot = enter(SequenceRequest.WORDS);
  readSequence(slot, pointer, 0, 0);
  leave(slot);
  return SequenceRequest.size(slot);
}

/** Reads one element of an Array, List or Shape; undefined when there is none. */
export function readElement(pointer: number, index: number, take: Take): unknown {
  const slot = enter(SequenceRequest.WORDS + Any.WORDS);
  const isThere = readSequence(slot, pointer, index, 1) !== 0;
  try {
    return isThere ? take(SequenceRequest.end(slot)) : undefined;
  } finally {
    leave(slot);
  }
}

/** Reads the elements of an Array, List or Shape. */
export function readElements(pointer: number, target: unknown[], take: Take): void {
  walkElements(pointer, (at, count) => {
    for (let i = 0; i < count; i++) target.push(take(Any.at(at, i)));
  });
}

/** Visits the elements of an Array, List or Shape in chunks: `count` values from a word on. */
export function walkElements(pointer: number, visit: (at: number, count: number) => void): void {
  const slot = enter(SequenceRequest.WORDS + CHUNK * Any.WORDS);
  try {
    for (let start = 0, written = CHUNK; written === CHUNK; start += written) {
      written = readSequence(slot, pointer, start, CHUNK);
      if (written > 0) visit(SequenceRequest.end(slot), written);
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
  const values = enter(CHUNK * Any.WORDS);
  let iterator = 0;
  try {
    iterator = orRaised(ffi.iterateEntries(pointer));
    for (let written = 0, isLast = iterator === 0; !isLast; ) {
      [written, isLast] = orRaised(ffi.readEntries(iterator, values, CHUNK / 2));
      for (let i = 0; i < written; i++) {
        visit(Any.at(values, 2 * i), Any.at(values, 2 * i + 1));
      }
    }
  } finally {
    leave(values);
    if (iterator !== 0) disown(iterator);
  }
}
