/**
 * Functions, containers and objects of native code. A function is called, a container and an object are read and called, and
 * the results are functions, containers and objects again. This is one recursion, so it is one module.
 */

import { ArgumentTypeError, IndexError } from '../errors.js';
import type { FFIBinding } from './binding.js';
import { builtin } from './calls/builtins.js';
import { call, type ReadResult } from './calls/calls.js';
import { dispatch } from './calls/dispatch.js';
import { Type } from './codec/any.js';
import { countElements, readElement, readElements, readEntries, type Take, walkEntries } from './codec/containers.js';
import { copyElements, copyEntries, copyKeys } from './codec/snapshots.js';
import { ValueReader } from './codec/value-reader.js';
import { FFIObject, listOf, objectHandle, textOf } from './codec/values.js';
import { attach } from './library.js';
import { getField, setField } from './objects/fields.js';
import { asFunction, type FFIFunction } from './objects/native-functions.js';
import { ObjectClasses } from './objects/object-classes.js';
import { adoptObject, ObjectHandle, recogniseOr, rememberObject, rememberViewed } from './objects/objects.js';
import { CallMode } from './wire-layout.js';

/** Loads libtvm_ffi unless this thread has it, and tells it how to run JavaScript functions. */
export function library(path?: string): FFIBinding {
  return attach(() => dispatch(take), path);
}

/** Calls the function at `pointer`. */
export function invoke(pointer: number, args: readonly unknown[], mode: number = CallMode.plain): unknown {
  return call(pointer, args, mode, readResult);
}

/** Calls a function that libtvm_ffi itself registers. */
export function callBuiltin(name: string, args: readonly unknown[], mode: number = CallMode.plain): unknown {
  library();
  return invoke(builtin(name), args, mode);
}

/** The JavaScript function for a native function with a reference, the same one as long as it is alive. */
export function functionAt(pointer: number, reference: number): FFIFunction {
  return recogniseOr(pointer, reference, () => {
    const handle = adoptObject(pointer, Type.function, reference);
    return asFunction(handle, (...args) => invoke(handle.pointer, args));
  }) as FFIFunction;
}

/** Reads a field of an object. An Array or Map becomes a view instead of a copy. */
export function getLiveField(pointer: number, getter: number, offset: number): unknown {
  return getField(pointer, getter, offset, (at, taken, reference) => reader.readLive(at, taken, reference));
}

/** The classes of objects whose types native code registered. */
export const objectClasses: ObjectClasses = new ObjectClasses({
  invoke,
  functionAt,
  getField: (pointer, getter, offset) =>
    getField(pointer, getter, offset, (at, taken, reference) => reader.read(at, taken, reference)),
  getLiveField,
  setField,
});

const reader: ValueReader = new ValueReader({
  functionAt,
  view: makeView,
  object: (handle) => objectClasses.wrap(handle),
});
const readResult: ReadResult = (slot, result, value, args, mode) => reader.readResult(slot, result, value, args, mode);

/** Reads the value at a word. The caller keeps the object of the value alive. */
export const take: Take = (at) => reader.take(at);
/** The same, but an Array or Map becomes a view. */
const takeLive: Take = (at) => reader.takeLive(at);
const takeOf = (hasViews: boolean): Take => (hasViews ? takeLive : take);

/** The same container, but the arrays and maps in it are views. */
export let liveContainer: (container: LiveContainer) => FFIObject;

/**
 * The view of a native container, or a new one with these values.
 *
 * @hideconstructor
 * @example
 * ```ts
 * import { Dict, List, type LiveContainer } from 'dlpack/tvm-ffi';
 * const containers: LiveContainer[] = [new List([1, 2]), new Dict([['a', 1]])];
 * console.log(containers.map(({ typeKey }) => typeKey)); // ['ffi.List', 'ffi.Dict']
 * ```
 */
export abstract class LiveContainer extends FFIObject {
  /** Whether elements that are an Array or Map are views. */
  protected hasViews: boolean;

  constructor(maker: string, hasViews: boolean, source: unknown, valuesOf: () => readonly unknown[]) {
    const isMade = source instanceof ObjectHandle;
    super(isMade ? source : objectHandle(callBuiltin(maker, valuesOf(), CallMode.forView) as FFIObject));
    this.hasViews = hasViews;
    // When native code returns this container, JavaScript gets the same object.
    if (!isMade) rememberObject(objectHandle(this), this);
  }

  static {
    liveContainer = (container) => {
      if (container.hasViews) return container;
      const handle = objectHandle(container);
      const view = makeView(handle);
      view.hasViews = true;
      return rememberViewed(handle, container, view);
    };
  }

  override toString(): string {
    return textOf(this, () => callBuiltin('ffi.ReprPrint', [this]) as string);
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString();
  }
}

/**
 * The elements of a native sequence.
 *
 * @example
 * ```ts
 * import { ArrayView, List, type Sequence } from 'dlpack/tvm-ffi';
 * const last = (values: Sequence<number>) => values.at(-1);
 * console.log(last(new List([1, 2])), last(new ArrayView([3, 4]))); // 2 4
 * ```
 */
export abstract class Sequence<T> extends LiveContainer implements Iterable<T> {
  /** The number of elements now. */
  get length(): number {
    return countElements(objectHandle(this).pointer);
  }

  /**
   * Returns the element at an index.
   *
   * @param index - From the end if it is negative.
   * @returns The element; undefined outside. Arrays and maps are copies, or views after `live`.
   * @throws ArgumentTypeError for anything but an integer.
   */
  at(index: number): T | undefined {
    const place = checkIndex(index);
    const start = place < 0 ? place + this.length : place;
    if (start < 0) return undefined;
    return readElement(objectHandle(this).pointer, start, takeOf(this.hasViews)) as T | undefined;
  }

  /** Reads one element at a time. Elements that are added meanwhile are read, too. */
  *[Symbol.iterator](): Generator<T, undefined> {
    const handle = objectHandle(this); // the program may dispose it between two elements
    for (let i = 0; i < countElements(handle.pointer); i++) {
      yield readElement(handle.pointer, i, takeOf(this.hasViews)) as T;
    }
  }

  /**
   * Copies the elements.
   *
   * @returns An array; the arrays and maps inside are copies, too.
   */
  toArray(): T[] {
    const elements: unknown[] = [];
    readElements(objectHandle(this).pointer, elements, take);
    return elements as T[];
  }

  /**
   * Copies the elements, for `JSON.stringify`.
   *
   * @returns The array of `toArray()`.
   */
  toJSON(): T[] {
    return this.toArray();
  }
}

function checkIndex(index: number): number {
  if (!Number.isInteger(index) || Math.abs(index) > 0xffffffff)
    throw new ArgumentTypeError('index', 'an integer', index);
  return index;
}

/**
 * Represents a mutable list of native code: `ffi.List`. Both sides see the changes of the other.
 *
 * @example
 * ```ts
 * import { List } from 'dlpack/tvm-ffi';
 * const list = new List([1, 2]);
 * list.push(3);
 * console.log(list.length, list.at(-1), list.toArray()); // 3 3 [1, 2, 3]
 * ```
 */
export class List<T = unknown> extends Sequence<T> {
  /**
   * Makes a list of native code.
   *
   * @param items - The elements; none when absent.
   * @throws ArgumentTypeError for anything but an iterable of values with a type in TVM-FFI, and LoadError without
   *   libtvm_ffi.
   */
  constructor(items: Iterable<T> = []) {
    super('ffi.List', false, items, () => listOf(items, 'items'));
  }

  override toArray(): T[] {
    return copyElements(objectHandle(this).pointer, take) as T[];
  }

  /**
   * Replaces an element.
   *
   * @param index - From the end if it is negative.
   * @param value - The new element.
   * @throws IndexError for an index outside of the list, and ArgumentTypeError for a value without a type in TVM-FFI.
   */
  set(index: number, value: T): void {
    callBuiltin('ffi.ListSetItem', [this, this.#place(index), value]);
  }

  /**
   * Adds elements at the end.
   *
   * @param items - The elements, in order.
   * @returns The new length.
   * @throws ArgumentTypeError for a value without a type in TVM-FFI.
   */
  push(...items: readonly T[]): number {
    for (const item of items) callBuiltin('ffi.ListAppend', [this, item]);
    return this.length;
  }

  /**
   * Removes the last element.
   *
   * @returns The element; undefined when there was none.
   */
  pop(): T | undefined {
    const { length } = this;
    return length === 0 ? undefined : (callBuiltin('ffi.ListPop', [this, length - 1]) as T);
  }

  /**
   * Inserts an element before the one at an index, or at the nearest end.
   *
   * @param index - From the end if it is negative.
   * @param value - The element.
   * @throws ArgumentTypeError for an index that is no integer, or a value without a type in TVM-FFI.
   */
  insert(index: number, value: T): void {
    callBuiltin('ffi.ListInsert', [this, this.#nearest(index), value]);
  }

  /**
   * Removes elements and puts others in their place.
   *
   * @param start - The first index, from the end if it is negative.
   * @param count - How many to remove, at most those up to the end.
   * @param items - The elements to put there; none when absent.
   * @returns The removed elements.
   * @throws ArgumentTypeError for anything but integers, or a value without a type in TVM-FFI.
   */
  splice(start: number, count: number, ...items: readonly T[]): T[] {
    const { length } = this;
    const first = this.#nearest(start);
    const last = first + Math.min(Math.max(checkIndex(count), 0), length - first);
    const removed: T[] = [];
    for (let i = first; i < last; i++) removed.push(this.at(i) as T);
    callBuiltin('ffi.ListReplaceSlice', [this, first, last, new List(items)]);
    return removed;
  }

  /** Reverses the order of the elements. */
  reverse(): this {
    callBuiltin('ffi.ListReverse', [this]);
    return this;
  }

  /** Removes all elements. */
  clear(): void {
    callBuiltin('ffi.ListClear', [this]);
  }

  /**
   * Tells whether an element is equal to a value, by the library's comparison.
   *
   * @param value - The value.
   */
  includes(value: T): boolean {
    return callBuiltin('ffi.ListContains', [this, value]) as boolean;
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

/**
 * Represents an immutable array of native code without a copy: `ffi.Array`. The arrays and maps in it are views, too.
 *
 * @example
 * ```ts
 * import { ArrayView } from 'dlpack/tvm-ffi';
 * const array = new ArrayView([1, 2, 3]); // made once, passed often
 * console.log(array.at(0), array.includes(3)); // 1 true
 * ```
 */
export class ArrayView<T = unknown> extends Sequence<T> {
  /**
   * Makes an array of native code.
   *
   * @param items - The elements; none when absent.
   * @throws ArgumentTypeError for anything but an iterable of values with a type in TVM-FFI, and LoadError without
   *   libtvm_ffi.
   */
  constructor(items: Iterable<T> = []) {
    super('ffi.Array', true, items, () => listOf(items, 'items'));
  }

  /**
   * Tells whether an element is equal to a value, by the library's comparison.
   *
   * @param value - The value.
   */
  includes(value: T): boolean {
    return callBuiltin('ffi.ArrayContains', [this, value]) as boolean;
  }
}

/** What the library returns for a key that does not exist. Kept, so that it is recognised. */
let missing: FFIObject | null = null;

/**
 * The entries of a native map.
 *
 * @example
 * ```ts
 * import { Dict, type Entries, MapView } from 'dlpack/tvm-ffi';
 * const total = (entries: Entries<string, number>) => [...entries.values()].reduce((a, b) => a + b, 0);
 * console.log(total(new Dict([['a', 1]])), total(new MapView([['b', 2]]))); // 1 2
 * ```
 */
export abstract class Entries<K, V> extends LiveContainer implements Iterable<[K, V]> {
  protected abstract readonly kind: 'Map' | 'Dict';

  /** The number of entries now. */
  get size(): number {
    return callBuiltin(`ffi.${this.kind}Size`, [this]) as number;
  }

  /**
   * Returns true if there is an entry with this key.
   *
   * @param key - The key.
   */
  has(key: K): boolean {
    return callBuiltin(`ffi.${this.kind}Count`, [this, key]) !== 0;
  }

  /**
   * Returns the value of a key.
   *
   * @param key - The key.
   * @returns The value; undefined when there is none.
   */
  get(key: K): V | undefined {
    if (missing === null || objectHandle(missing).isDisposed) {
      missing = callBuiltin('ffi.GetInvalidObject', []) as FFIObject;
    }
    const mode = this.hasViews ? CallMode.forView : CallMode.plain;
    const value = callBuiltin(`ffi.${this.kind}GetItemOrMissing`, [this, key], mode);
    return value === missing ? undefined : (value as V);
  }

  /**
   * Copies the entries.
   *
   * @returns A Map; the arrays and maps inside are copies, too.
   */
  toMap(): Map<K, V> {
    const entries = new Map<unknown, unknown>();
    readEntries(objectHandle(this).pointer, entries, take);
    return entries as Map<K, V>;
  }

  /**
   * Iterates over the keys.
   *
   * @returns The keys at the time of the first step.
   */
  *keys(): Generator<K, undefined> {
    yield* this.readKeys();
  }

  protected readKeys(): K[] {
    const keys: K[] = [];
    walkEntries(objectHandle(this).pointer, (key) => keys.push(take(key) as K));
    return keys;
  }

  /**
   * Iterates over the values.
   *
   * @returns The values, each read when its turn comes.
   */
  *values(): Generator<V, undefined> {
    for (const [, value] of this) yield value;
  }

  /**
   * Iterates over pairs of a key and a value.
   *
   * @returns The pairs, each read when its turn comes.
   */
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

  /**
   * Copies the entries into an object.
   *
   * @returns An object with the keys as names, for `JSON.stringify`.
   */
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

/**
 * Represents a mutable map of native code: `ffi.Dict`. Both sides see the changes of the other.
 *
 * @example
 * ```ts
 * import { Dict } from 'dlpack/tvm-ffi';
 * const counts = new Dict([['a', 1]]);
 * counts.set('b', 2);
 * console.log([...counts.keys()], counts.get('a')); // ['a', 'b'] 1
 * ```
 */
export class Dict<K = unknown, V = unknown> extends Entries<K, V> {
  protected override readonly kind = 'Dict';

  /**
   * Makes a map of native code that can change.
   *
   * @param entries - Pairs of a key and a value; none when absent.
   * @throws ArgumentTypeError for anything but an iterable of pairs with a type in TVM-FFI, and LoadError without
   *   libtvm_ffi.
   */
  constructor(entries: Iterable<readonly [K, V]> = []) {
    super('ffi.Dict', false, entries, () => entriesOf(entries));
  }

  override toMap(): Map<K, V> {
    return copyEntries(objectHandle(this).pointer, take) as Map<K, V>;
  }

  protected override readKeys(): K[] {
    return copyKeys(objectHandle(this).pointer, take) as K[];
  }

  /**
   * Adds an entry, or replaces its value.
   *
   * @param key - The key.
   * @param value - Its value.
   * @returns The map itself.
   * @throws ArgumentTypeError for a key or a value without a type in TVM-FFI.
   */
  set(key: K, value: V): this {
    callBuiltin('ffi.DictSetItem', [this, key, value]);
    return this;
  }

  /**
   * Removes an entry.
   *
   * @param key - The key.
   * @returns False if it did not exist.
   */
  delete(key: K): boolean {
    const isThere = this.has(key);
    if (isThere) callBuiltin('ffi.DictErase', [this, key]);
    return isThere;
  }

  /** Removes all entries. */
  clear(): void {
    callBuiltin('ffi.DictClear', [this]);
  }
}

/**
 * Represents an immutable map of native code without a copy: `ffi.Map`. The arrays and maps in it are views, too.
 *
 * @example
 * ```ts
 * import { MapView } from 'dlpack/tvm-ffi';
 * const map = new MapView([['a', 1]]); // made once, passed often
 * console.log(map.size, map.get('a')); // 1 1
 * ```
 */
export class MapView<K = unknown, V = unknown> extends Entries<K, V> {
  protected override readonly kind = 'Map';

  /**
   * Makes a map of native code.
   *
   * @param entries - Pairs of a key and a value; none when absent.
   * @throws ArgumentTypeError for anything but an iterable of pairs with a type in TVM-FFI, and LoadError without
   *   libtvm_ffi.
   */
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
function makeView(handle: ObjectHandle): LiveContainer {
  return new (classes.get(handle.type) as ContainerClass)(handle as never);
}
