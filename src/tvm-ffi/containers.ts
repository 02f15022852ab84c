/**
 * Containers in both directions, of any length and depth. Neither direction recurses, and both use a bounded number of slots.
 *
 * @module
 */

import { ArgumentValueError, BufferError } from '../errors.js';
import { DLPACK } from '../protocol/managed.js';
import { Tensor } from '../tensor.js';
import { frame } from './call-frame.js';
import { takeRaised } from './errors.js';
import { ffi } from './library.js';
import { callState, disown, keepForCall, releaseTemporaries, standIns, TemporaryObject } from './objects.js';
import { Dict, List, Shape, TVM_FFI_VALUE } from './values.js';

const { f64, i32, u32, OBJECT, STATUS, TOP, COUNT, BASE, SLOT, SLOTS, Type, typeAt, payloadAt, writeSlot } = frame;

/** Slots that one container uses at a time. More elements are moved to a native batch. */
const CHUNK = 64;
/** Levels of nesting with slots of their own. Deeper levels share the slots of their parents. */
const SPREAD_DEPTH = 12;
/** Native code destroys nested containers recursively, and would run out of stack far beyond this. */
const MAX_DEPTH = 10_000;

/** The native class of a JavaScript value, and its elements; keys and values of a map alternate. */
export interface Container {
  readonly type: number;
  readonly values: readonly unknown[];
}

/** The value as a container, or null. */
export function containerOf(value: object): Container | null {
  // First, because nothing may be asked of the proxy that stands for a module.
  if (standIns.has(value)) return null;
  if (Array.isArray(value)) return { type: Type.array, values: value };
  if (value instanceof Map) return { type: Type.map, values: [...value].flat() };
  if (value instanceof Shape) return { type: Type.shape, values: value.dims };
  if (value instanceof List) return { type: Type.list, values: value.items };
  if (value instanceof Dict) return { type: Type.dict, values: value.entries.flat() };
  return isRecord(value) ? { type: Type.map, values: Object.entries(value).flat() } : null;
}

/** A plain object, unless it stands for a tensor or another value. */
function isRecord(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  return !(DLPACK in value || '__dlpack__' in value || TVM_FFI_VALUE in value);
}

/** A container that is being made. */
interface Building {
  readonly parent: Building | null;
  readonly type: number;
  readonly values: readonly unknown[];
  readonly length: number;
  readonly depth: number;
  /** Its slots: `capacity` for elements and one for the container itself. */
  readonly base: number;
  readonly capacity: number;
  /** What `callState` held before. */
  readonly mark: number;
  readonly text: number;
  /** The next element to write. */
  next: number;
  /** Slots in use. */
  count: number;
  /** The number of the batch with the elements before those in the slots; 0: there is none. */
  batch: number;
}

function begin({ type, values }: Container, parent: Building | null): Building {
  const depth = parent === null ? 0 : parent.depth + 1;
  if (depth > MAX_DEPTH) {
    throw new ArgumentValueError('an argument', `containers nested at most ${MAX_DEPTH} deep`, 'one that is deeper');
  }
  const { length } = values;
  const capacity = Math.min(Math.max(length, 1), CHUNK);
  let base = u32[TOP] as number;
  if (parent !== null && (depth > SPREAD_DEPTH || base + capacity >= SLOTS)) {
    flush(parent);
    base = parent.base;
  }
  if (base + capacity >= SLOTS) throw frameIsFull();
  u32[TOP] = base + capacity + 1;
  const { temporaries, text } = callState;
  const mark = temporaries.length;
  return { parent, type, values, length, depth, base, capacity, mark, text, next: 0, count: 0, batch: 0 };
}

export function frameIsFull(): BufferError {
  return new BufferError('Expected fewer calls inside of one another: there is no room for the arguments of this one');
}

/** Moves `count` slots from `base` on to a batch, which is made for the number 0. Returns the number of the batch. */
export function appendToBatch(batch: number, base: number, count: number): number {
  u32[SLOT] = batch;
  u32[BASE] = base;
  i32[COUNT] = count;
  ffi.appendValues();
  if (i32[STATUS] !== 0) {
    if (batch === 0) disown(u32[SLOT] as number);
    throw takeRaised();
  }
  return u32[SLOT] as number;
}

/** Moves the elements in the slots to the batch, and releases what was made for them. */
function flush(building: Building): void {
  if (building.count === 0) return;
  building.batch = appendToBatch(building.batch, building.base, building.count);
  building.count = 0;
  releaseTemporaries(building.mark);
  callState.text = building.text;
  u32[TOP] = building.base + building.capacity + 1;
}

/** The slot for the next element. */
function nextSlot(building: Building): number {
  if (building.count === building.capacity) flush(building);
  return building.base + building.count++;
}

/** Makes the container and keeps it until the call ends. Its address is in the slot that is returned. */
function finish(building: Building): number {
  if (building.batch !== 0) flush(building);
  const { base, count, type, mark, batch, parent } = building;
  const slot = base + count;
  i32[typeAt(slot)] = type;
  u32[SLOT] = batch;
  u32[BASE] = base;
  i32[COUNT] = count;
  ffi.makeContainer();
  if (i32[STATUS] !== 0) throw takeRaised();
  const number = u32[SLOT] as number;
  const pointer = f64[payloadAt(slot)] as number;
  try {
    releaseTemporaries(mark); // the container has its own references
    building.batch = 0;
    if (batch !== 0) disown(batch);
  } finally {
    callState.text = building.text;
    u32[TOP] = parent === null ? base : parent.base + parent.capacity + 1;
    keepForCall(new TemporaryObject(number));
  }
  return pointer;
}

/** After an error: releases what was made for a container and those around it. */
function abandon(innermost: Building): void {
  let outermost = innermost;
  for (let building: Building | null = innermost; building !== null; building = building.parent) {
    if (building.batch !== 0) disown(building.batch);
    outermost = building;
  }
  try {
    releaseTemporaries(outermost.mark);
  } finally {
    u32[TOP] = outermost.base;
  }
}

/** A container may outlive the call, and a view in it would then point to freed memory. */
function checkElement(slot: number): void {
  if (i32[typeAt(slot)] === Type.tensorView) {
    throw new BufferError(
      'Expected memory that native code may keep inside of a container but this tensor is a view, or lies in a ' +
        'JavaScript buffer that its owner can move; use Tensor.from or Tensor.adopt',
    );
  }
}

/** Makes a container and puts it into the slot until the call ends. `write` writes elements that are not containers. */
export function writeContainer(
  slot: number,
  container: Container,
  write: (slot: number, value: unknown) => void,
): void {
  let building = begin(container, null);
  try {
    for (;;) {
      if (building.next < building.length) {
        const value = building.values[building.next++];
        const isLeaf = typeof value !== 'object' || value === null || value instanceof Tensor;
        const nested = isLeaf ? null : containerOf(value);
        if (nested !== null) {
          building = begin(nested, building);
          continue;
        }
        const element = nextSlot(building);
        write(element, value);
        checkElement(element);
        continue;
      }
      const { parent, type } = building;
      const pointer = finish(building);
      if (parent === null) {
        writeSlot(slot, type, pointer);
        return;
      }
      building = parent;
      writeSlot(nextSlot(building), type, pointer);
    }
  } catch (error) {
    abandon(building);
    throw error;
  }
}

/** A native container that JavaScript has a reference to, and the array or map that its elements go into. */
interface Unread {
  readonly pointer: number;
  readonly type: number;
  /** The number of the reference. */
  readonly number: number;
  readonly target: unknown[] | Map<unknown, unknown>;
}

type Take = (slot: number) => unknown;

/** Reads one container and those inside it. Most have none inside, and then nothing is noted. */
class Reader {
  private readonly take: Take;
  /** Containers that are still to be read. */
  private unread: Unread[] | null = null;
  /** Containers that can contain themselves. */
  private mutable: Map<number, Unread['target']> | null = null;

  constructor(take: Take) {
    this.take = take;
  }

  read(root: Unread): Unread['target'] {
    if (isMutable(root.type)) this.mutable = new Map([[root.pointer, root.target]]);
    this.fill(root);
    const { unread } = this;
    if (unread === null) return root.target;
    try {
      for (let next = unread.pop(); next !== undefined; next = unread.pop()) this.fill(next);
    } finally {
      for (const left of unread) disown(left.number);
    }
    return root.target;
  }

  /** Reads the elements of a container and releases it. */
  private fill({ pointer, number, target }: Unread): void {
    try {
      if (Array.isArray(target)) readElements(pointer, target, this.element);
      else readEntries(pointer, target, this.element);
    } finally {
      disown(number);
    }
  }

  /** The value of a slot. A container becomes an array or map that is filled later. */
  private readonly element = (slot: number): unknown => {
    const type = i32[typeAt(slot)] as number;
    if (type < Type.array || !isReadAsContainer(type)) return this.take(slot);
    const pointer = f64[payloadAt(slot)] as number;
    if (isMutable(type)) {
      const known = this.mutable?.get(pointer);
      if (known !== undefined) return known;
    }
    u32[SLOT] = slot;
    ffi.take();
    const unread = makeUnread(pointer, type, u32[SLOT] as number);
    if (isMutable(type)) {
      this.mutable ??= new Map();
      this.mutable.set(pointer, unread.target);
    }
    this.unread ??= [];
    this.unread.push(unread);
    return unread.target;
  };
}

function isMutable(type: number): boolean {
  return type === Type.list || type === Type.dict;
}

function isReadAsContainer(type: number): boolean {
  return type === Type.array || type === Type.map || isMutable(type);
}

function makeUnread(pointer: number, type: number, number: number): Unread {
  return { pointer, type, number, target: type === Type.map || type === Type.dict ? new Map() : [] };
}

/** The contents of a container under the reference `number`, which is released. `take` reads elements that are none. */
export function readContainer(pointer: number, type: number, number: number, take: Take): Unread['target'] {
  return new Reader(take).read(makeUnread(pointer, type, number));
}

/** Elements of an Array, List or Shape, a chunk of slots at a time. */
export function readElements(pointer: number, target: unknown[], take: Take): void {
  const base = u32[TOP] as number;
  if (base + CHUNK > SLOTS) throw frameIsFull();
  u32[TOP] = base + CHUNK;
  try {
    for (let written = CHUNK; written === CHUNK; ) {
      f64[OBJECT] = pointer;
      u32[SLOT] = target.length;
      u32[BASE] = base;
      i32[COUNT] = CHUNK;
      ffi.readSequence();
      written = i32[COUNT] as number;
      for (let i = 0; i < written; i++) target.push(take(base + i));
    }
  } finally {
    u32[TOP] = base;
  }
}

/** Entries of a Map or Dict. Its layout is the library's own, so the library's functions walk it. */
function readEntries(pointer: number, target: Map<unknown, unknown>, take: Take): void {
  f64[OBJECT] = pointer;
  ffi.iterateEntries();
  if (i32[STATUS] !== 0) throw takeRaised();
  const iterator = u32[SLOT] as number;
  if (iterator === 0) return;
  const base = u32[TOP] as number;
  try {
    if (base + CHUNK > SLOTS) throw frameIsFull();
    u32[TOP] = base + CHUNK;
    for (let isLast = false; !isLast; ) {
      u32[SLOT] = iterator;
      u32[BASE] = base;
      i32[COUNT] = CHUNK / 2;
      ffi.readEntries();
      if (i32[STATUS] !== 0) throw takeRaised();
      isLast = u32[SLOT] === 0;
      const written = i32[COUNT] as number;
      for (let i = 0; i < written; i++) {
        const key = take(base + 2 * i);
        target.set(key, take(base + 2 * i + 1));
      }
    }
  } finally {
    u32[TOP] = base;
    disown(iterator);
  }
}
