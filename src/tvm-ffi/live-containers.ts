/** Containers as views of native objects: nothing is copied until it is read, and changes are seen on both sides. */

import { ArgumentTypeError, IndexError } from '../errors.js';
import { wire } from '../native/wire.js';
import { Type } from './any.js';
import { appendToBatch } from './batches.js';
import { operations } from './call-operations.js';
import { countElements, readContainer, readElement, readElements, readEntries, walkEntries } from './containers.js';
import { takeRaised } from './errors.js';
import { builtin } from './globals.js';
import { ffi, library } from './library.js';
import { disown, ObjectHandle, rememberObject, rememberViewed } from './objects.js';
import { enter, request } from './slot.js';
import { FFIObject, handleOf, listOf } from './values.js';
import { ContainerRequest } from './wire-layout.js';

const { f64, i32, u32 } = wire;

const call = (name: string, ...args: readonly unknown[]): unknown => operations.invoke(builtin(name), args);
const take = (at: number): unknown => operations.takeValue(at);

/** The same container, but the arrays and maps in it are views. */
export let liveContainer: (container: LiveContainer) => FFIObject;

/** The view of a native container, or a new one with these values. */
abstract class LiveContainer extends FFIObject {
  /** Whether elements that are an Array or Map are views. */
  protected hasViews: boolean;

  constructor(maker: string, hasViews: boolean, source: unknown, valuesOf: () => readonly unknown[]) {
    const isMade = source instanceof ObjectHandle;
    if (!isMade) library();
    super(isMade ? source : handleOf(operations.invokeForView(builtin(maker), valuesOf()) as FFIObject));
    this.hasViews = hasViews;
    // When native code returns this container, JavaScript gets the same object.
    if (!isMade) rememberObject(handleOf(this), this);
  }

  static {
    liveContainer = (container) => {
      if (container.hasViews) return container;
      const handle = handleOf(container);
      const view = makeView(handle);
      view.hasViews = true;
      return rememberViewed(handle, container, view);
    };
  }

  override toString(): string {
    return call('ffi.ReprPrint', this) as string;
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString();
  }
}

/** The elements of a native sequence. */
abstract class Sequence<T> extends LiveContainer implements Iterable<T> {
  get length(): number {
    return countElements(handleOf(this).pointer);
  }

  /** The element at an index, from the end if it is negative; undefined outside. */
  at(index: number): T | undefined {
    const place = checkIndex(index);
    const start = place < 0 ? place + this.length : place;
    if (start < 0) return undefined;
    return readElement(handleOf(this).pointer, start, this.hasViews) as T | undefined;
  }

  /** Reads one element at a time. Elements that are added meanwhile are read, too. */
  *[Symbol.iterator](): Generator<T, undefined> {
    const { pointer } = handleOf(this);
    for (let i = 0; i < countElements(pointer); i++) yield readElement(pointer, i, this.hasViews) as T;
  }

  /** A copy of the elements. */
  toArray(): T[] {
    const elements: unknown[] = [];
    readElements(handleOf(this).pointer, elements, take);
    return elements as T[];
  }

  toJSON(): T[] {
    return this.toArray();
  }
}

function checkIndex(index: number): number {
  if (!Number.isInteger(index) || Math.abs(index) > 0xffffffff)
    throw new ArgumentTypeError('index', 'an integer', index);
  return index;
}

/** A mutable list: `ffi.List`. */
export class List<T = unknown> extends Sequence<T> {
  constructor(items: Iterable<T> = []) {
    super('ffi.List', false, items, () => listOf(items, 'items'));
  }

  override toArray(): T[] {
    return copyElements(handleOf(this).pointer) as T[];
  }

  /** Replaces an element. */
  set(index: number, value: T): void {
    call('ffi.ListSetItem', this, this.#place(index), value);
  }

  /** Adds elements at the end and returns the new length. */
  push(...items: readonly T[]): number {
    for (const item of items) call('ffi.ListAppend', this, item);
    return this.length;
  }

  /** Removes the last element; undefined when there is none. */
  pop(): T | undefined {
    const { length } = this;
    return length === 0 ? undefined : (call('ffi.ListPop', this, length - 1) as T);
  }

  /** Inserts an element before the one at an index, or at the nearest end. */
  insert(index: number, value: T): void {
    call('ffi.ListInsert', this, this.#nearest(index), value);
  }

  /** Removes `count` elements from an index on, puts others in their place, and returns the removed elements. */
  splice(start: number, count: number, ...items: readonly T[]): T[] {
    const { length } = this;
    const first = this.#nearest(start);
    const last = first + Math.min(Math.max(checkIndex(count), 0), length - first);
    const removed: T[] = [];
    for (let i = first; i < last; i++) removed.push(this.at(i) as T);
    call('ffi.ListReplaceSlice', this, first, last, new List(items));
    return removed;
  }

  reverse(): this {
    call('ffi.ListReverse', this);
    return this;
  }

  clear(): void {
    call('ffi.ListClear', this);
  }

  /** True when an element is equal to a value, by the library's comparison. */
  includes(value: T): boolean {
    return call('ffi.ListContains', this, value) as boolean;
  }

  /** An index, from the end if it is negative, or the nearest end of the list. */
  #nearest(index: number): number {
    const { length } = this;
    return Math.min(Math.max(checkIndex(index) < 0 ? index + length : index, 0), length);
  }

  #place(index: number): number {
    const { length } = this;
    const place = checkIndex(index) < 0 ? index + length : index;
    if (place < 0 || place >= length)
      throw new IndexError(`Index ${index} is outside a list of length ${length}`, index);
    return place;
  }
}

/** An immutable array without a copy: `ffi.Array`. The arrays and maps in it are views, too. */
export class ArrayView<T = unknown> extends Sequence<T> {
  constructor(items: Iterable<T> = []) {
    super('ffi.Array', true, items, () => listOf(items, 'items'));
  }

  /** True when an element is equal to a value, by the library's comparison. */
  includes(value: T): boolean {
    return call('ffi.ArrayContains', this, value) as boolean;
  }
}

/** What the library returns for a key that does not exist. Kept, so that it is recognised. */
let missing: unknown = null;

/** The entries of a native map. */
abstract class Entries<K, V> extends LiveContainer implements Iterable<[K, V]> {
  protected abstract readonly kind: 'Map' | 'Dict';

  get size(): number {
    return call(`ffi.${this.kind}Size`, this) as number;
  }

  has(key: K): boolean {
    return call(`ffi.${this.kind}Count`, this, key) !== 0;
  }

  /** The value of a key; undefined when there is none. */
  get(key: K): V | undefined {
    missing ??= call('ffi.GetInvalidObject');
    const { invoke, invokeForView } = operations;
    const value = (this.hasViews ? invokeForView : invoke)(builtin(`ffi.${this.kind}GetItemOrMissing`), [this, key]);
    return value === missing ? undefined : (value as V);
  }

  /** A copy of the entries. */
  toMap(): Map<K, V> {
    const entries = new Map<unknown, unknown>();
    readEntries(handleOf(this).pointer, entries, take);
    return entries as Map<K, V>;
  }

  *keys(): Generator<K, undefined> {
    yield* this.readKeys();
  }

  protected readKeys(): K[] {
    const keys: K[] = [];
    walkEntries(handleOf(this).pointer, (key) => keys.push(take(key) as K));
    return keys;
  }

  *values(): Generator<V, undefined> {
    for (const [, value] of this) yield value;
  }

  entries(): Generator<[K, V], undefined> {
    return this[Symbol.iterator]();
  }

  /**
   * Reads the keys first, because a native iterator does not survive a change of the map. A key that is removed before
   * its turn is left out.
   */
  *[Symbol.iterator](): Generator<[K, V], undefined> {
    for (const key of this.keys()) if (this.has(key)) yield [key, this.get(key) as V];
  }

  toJSON(): Record<string, V> {
    return Object.fromEntries(this.toMap()) as Record<string, V>;
  }
}

function entriesOf<K, V>(entries: Iterable<readonly [K, V]>): unknown[] {
  const list = listOf(entries, 'entries');
  for (const entry of list) {
    if (!Array.isArray(entry) || entry.length !== 2) throw new ArgumentTypeError('entries', '[key, value]', entry);
  }
  return list.flat();
}

/** A mutable map: `ffi.Dict`. */
export class Dict<K = unknown, V = unknown> extends Entries<K, V> {
  protected override readonly kind = 'Dict';

  constructor(entries: Iterable<readonly [K, V]> = []) {
    super('ffi.Dict', false, entries, () => entriesOf(entries));
  }

  override toMap(): Map<K, V> {
    return copyEntries(handleOf(this).pointer) as Map<K, V>;
  }

  protected override readKeys(): K[] {
    return copyKeys(handleOf(this).pointer) as K[];
  }

  set(key: K, value: V): this {
    call('ffi.DictSetItem', this, key, value);
    return this;
  }

  /** Removes an entry. Returns false if it did not exist. */
  delete(key: K): boolean {
    const isThere = this.has(key);
    if (isThere) call('ffi.DictErase', this, key);
    return isThere;
  }

  clear(): void {
    call('ffi.DictClear', this);
  }
}

/** An immutable map without a copy: `ffi.Map`. The arrays and maps in it are views, too. */
export class MapView<K = unknown, V = unknown> extends Entries<K, V> {
  protected override readonly kind = 'Map';

  constructor(entries: Iterable<readonly [K, V]> = []) {
    super('ffi.Map', true, entries, () => entriesOf(entries));
  }
}

export function isContainer(object: FFIObject): object is LiveContainer {
  return object instanceof LiveContainer;
}

type ContainerClass = new (handle: never) => LiveContainer;
const classes = new Map<number, ContainerClass>([
  [Type.list, List],
  [Type.dict, Dict],
  [Type.array, ArrayView],
  [Type.map, MapView],
]);

/** The view of a container. */
export function makeView(handle: ObjectHandle): LiveContainer {
  return new (classes.get(handle.type) as ContainerClass)(handle as never);
}

// Copies of mutable containers. Reading an element can run a program's code, such as the constructor of a registered
// error class. If that code changes the container, elements and iterators that are still in use are freed. So all
// elements get a reference before the first is read.

/** Adds references to `count` values at a word. */
type Append = (at: number, count: number) => void;

/** The elements of a List. */
function copyElements(pointer: number): unknown[] {
  return copy((append) => readElements(pointer, [], (at) => append(at, 1)));
}

/** The keys of a Dict. */
function copyKeys(pointer: number): unknown[] {
  return copy((append) => walkEntries(pointer, (key) => append(key, 1)));
}

/** The entries of a Dict. */
function copyEntries(pointer: number): Map<unknown, unknown> {
  const flat = copy((append) => walkEntries(pointer, (key) => append(key, 2))); // the value follows its key
  const entries = new Map<unknown, unknown>();
  for (let i = 0; i < flat.length; i += 2) entries.set(flat[i], flat[i + 1]);
  return entries;
}

/** Reads the values that `walk` visits, from a native array of their own. */
function copy(walk: (append: Append) => void): unknown[] {
  let batch = 0;
  try {
    walk((at, count) => {
      batch = appendToBatch(batch, at, count);
    });
    if (batch === 0) return [];
    const slot = enter(ContainerRequest.WORDS);
    const half = slot * 2;
    i32[half + ContainerRequest.TYPE] = Type.array;
    u32[half + ContainerRequest.BATCH] = batch;
    request(slot, () => ffi.makeContainer());
    if (i32[half + ContainerRequest.STATUS] !== 0) throw takeRaised();
    const pointer = f64[slot + ContainerRequest.OBJECT] as number;
    return readContainer(pointer, Type.array, u32[half + ContainerRequest.REFERENCE] as number) as unknown[];
  } finally {
    if (batch !== 0) disown(batch);
  }
}
