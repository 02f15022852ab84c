/** A class for each type that native code registered, with the fields and methods that it declares. */

import { ArgumentTypeError, ArgumentValueError, isA } from '../errors.js';
import { wire } from '../native/wire.js';
import { WireHeader } from '../native/wire-layout.js';
import { operations } from './call-operations.js';
import { TVMFFIError, takeRaised } from './errors.js';
import { builtin } from './globals.js';
import { hostTypeOf } from './host-objects.js';
import { ffi, library } from './library.js';
import type { ArrayView, MapView } from './live-containers.js';
import { ObjectHandle, type Referenced, rememberObject, rememberViewed, standIns } from './objects.js';
import { enter, leave, request } from './slot.js';
import { FFIObject, handleOf } from './values.js';
import { MethodRequest, TypeRequest } from './wire-layout.js';

const { f64, i32, u32 } = wire;

/** The class of a registered type. `T` describes its fields and methods. */
export interface ObjectClass<T extends object = object> {
  /** Calls the constructor that the type registered. */
  new (...args: unknown[]): FFIObject & T;
  /** Makes an object from the values of its fields. Fields with a default may be omitted. */
  fromFields(fields: Partial<T>): FFIObject & T;
  readonly prototype: FFIObject & T;
}

/** Bits of the flags of members. */
export const MemberFlag = { writable: 1, isStatic: 4 } as const;

interface Member {
  readonly name: string;
  /** Bits of {@link MemberFlag}. */
  readonly flags: number;
  /** JSON with the type of the member. */
  readonly metadata: string;
}

interface Field extends Member {
  /** The address of the function that reads it, as the double with the same bits. */
  readonly getter: number;
  readonly offset: number;
}

export interface TypeDescription {
  readonly key: string;
  /** -1 for the root. */
  readonly parent: number;
  readonly fields: readonly Field[];
  readonly methods: readonly Member[];
}

const descriptions = new Map<number, TypeDescription>();

/** The library's description of a type, which is read once. */
export function describeType(type: number): TypeDescription {
  let description = descriptions.get(type);
  if (description === undefined) {
    const slot = enter(TypeRequest.WORDS);
    i32[slot * 2 + TypeRequest.TYPE] = type;
    const read = request(slot, () => ffi.readType());
    if (read === undefined) throw takeRaised();
    const [key, parent, fields, methods] = read;
    description = {
      key,
      parent,
      fields: membersOf<Field>(fields, ['name', 'flags', 'metadata', 'getter', 'offset']),
      methods: membersOf<Member>(methods, ['name', 'flags', 'metadata']),
    };
    descriptions.set(type, description);
  }
  return description;
}

/** The members in a flat array, which has their properties one after the other. */
function membersOf<M>(flat: readonly (string | number)[], names: readonly (keyof M)[]): M[] {
  const members: M[] = [];
  for (let i = 0; i < flat.length; i += names.length) {
    members.push(Object.fromEntries(names.map((name, j) => [name, flat[i + j]])) as M);
  }
  return members;
}

/** The number of the type with a key, or null. */
export function findType(key: string): number | null {
  library();
  const slot = enter(TypeRequest.WORDS);
  request(slot, () => ffi.findType(key));
  if (i32[slot * 2 + TypeRequest.STATUS] !== 0) throw takeRaised();
  const type = i32[slot * 2 + TypeRequest.TYPE] as number;
  return type < 0 ? null : type;
}

/** True when the native object of a value has the type with this key, or a type derived from it. */
export function isInstance(value: unknown, key: string): boolean {
  if (typeof key !== 'string') throw new ArgumentTypeError('key', 'the key of a type', key);
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false;
  const found = standIns.get(value) ?? (isA(value, FFIObject) ? handleOf(value) : hostTypeOf(value));
  if (found === undefined) return false;
  const wanted = findType(key);
  for (let { type } = found; type >= 0; type = describeType(type).parent) if (type === wanted) return true;
  return false;
}

/** An object whose fields and methods return views: see `live`. */
export type Live<T> = FFIObject & {
  [K in keyof T]: T[K] extends (...args: infer A) => infer R ? (...args: A) => LiveValue<R> : LiveValue<T[K]>;
};

/** A value with views in place of arrays and maps. */
export type LiveValue<T> = T extends readonly (infer E)[]
  ? ArrayView<LiveValue<E>>
  : T extends ReadonlyMap<infer K, infer V>
    ? MapView<K, LiveValue<V>>
    : T;

/**
 * A function that the library has for the type; null for none. Its reference is never released, because types are never
 * removed.
 */
function functionOf(type: number, index: number | null): Referenced | null {
  const slot = enter(MethodRequest.WORDS);
  i32[slot * 2 + MethodRequest.TYPE] = type;
  u32[slot * 2 + MethodRequest.INDEX] = index ?? 0;
  u32[WireHeader.SLOT] = slot;
  if (index === null) ffi.getConstructor();
  else ffi.getMethod();
  leave(slot);
  if (i32[slot * 2 + MethodRequest.STATUS] !== 0) throw takeRaised();
  const pointer = f64[slot + MethodRequest.OBJECT] as number;
  return pointer === 0 ? null : { pointer, reference: u32[slot * 2 + MethodRequest.REFERENCE] as number };
}

function methodOf(type: number, index: number): Referenced {
  const found = functionOf(type, index);
  if (found !== null) return found;
  throw new TVMFFIError('TypeError', `Expected a function as method ${index} of type ${type} but it is another value`);
}

type AnyClass = (new (...args: never[]) => FFIObject) & { fromFields?: unknown };

/** Names that JavaScript itself needs. */
const reserved = new Set(['constructor', '__proto__', 'prototype', 'name', 'length', 'fromFields']);

const classes = new Map<number, AnyClass>();
const liveClasses = new Map<number, AnyClass>();

/** Makes the object for a handle, with the class of its type. */
export function wrapObject(handle: ObjectHandle): FFIObject {
  return Reflect.construct(ffi.isReflective ? classOf(handle.type) : FFIObject, [handle]) as FFIObject;
}

/** The same native object, but its fields and methods return views of arrays and maps. */
export function liveObject(object: FFIObject): FFIObject {
  const handle = handleOf(object);
  const view = Reflect.construct(FFIObject, [handle], liveClassOf(handle.type)) as FFIObject;
  return rememberViewed(handle, object, view);
}

/**
 * The class of a type that native code registered under a key. Its constructor calls the type's constructor, and its
 * objects have the fields and methods that the type declares. `T` describes them.
 */
export function objectClass<T extends object = Record<string, unknown>>(key: string): ObjectClass<T> {
  library();
  if (typeof key !== 'string') throw new ArgumentTypeError('key', 'the key of a type', key);
  const type = findType(key);
  if (type === null) throw new ArgumentValueError('key', 'the key of a registered type', key);
  return classOf(type) as unknown as ObjectClass<T>;
}

function classOf(type: number): AnyClass {
  let made = classes.get(type);
  if (made === undefined) {
    made = makeClass(type);
    classes.set(type, made);
  }
  return made;
}

function makeClass(type: number): AnyClass {
  const description = describeType(type);
  const { invoke } = operations;
  const parent = description.parent < 0 ? FFIObject : classOf(description.parent);
  let init = 0;
  const construct = (args: readonly unknown[]) => {
    if (init === 0) init = functionOf(type, null)?.pointer ?? 0;
    if (init === 0) throw new ArgumentTypeError('type', 'a type with a constructor', description.key);
    return invoke(init, args) as FFIObject;
  };
  const made = class extends (parent as new (handle: ObjectHandle) => FFIObject) {
    // biome-ignore lint/correctness/noUnreachableSuper: a constructor that returns an object needs no super()
    constructor(...args: unknown[]) {
      const [first] = args;
      const isMade = first instanceof ObjectHandle;
      // The result of the call is an object of this class already. A class that a program derived needs its own.
      // biome-ignore lint/correctness/noConstructorReturn: a second object for the same handle takes half the time
      if (!isMade && new.target === made) return construct(args);
      super(isMade ? first : handleOf(construct(args)));
      // When native code returns this object, JavaScript gets the same object.
      if (!isMade) rememberObject(handleOf(this), this);
    }

    static fromFields(fields: Readonly<Record<string, unknown>>): unknown {
      return invoke(builtin('ffi.MakeObjectFromPackedArgs'), [type, ...Object.entries(fields).flat()]);
    }
  };
  Object.defineProperty(made, 'name', { value: description.key.split('.').at(-1) });
  defineMembers(made.prototype, type, false);
  defineStatics(made, type, description.methods);
  if (parent === FFIObject) defineText(made);
  return made as unknown as AnyClass;
}

function liveClassOf(type: number): AnyClass {
  let made = liveClasses.get(type);
  if (made === undefined) {
    made = class extends classOf(type) {} as AnyClass;
    Object.defineProperty(made, 'name', { value: classOf(type).name });
    for (let at = type; at >= 0; at = describeType(at).parent) defineMembers(made.prototype, at, true);
    liveClasses.set(type, made);
  }
  return made;
}

/** Defines the fields and methods that a type declares, except those that the prototype has already. */
function defineMembers(prototype: FFIObject, type: number, asView: boolean): void {
  const { getField, setField, invoke, invokeForView } = operations;
  const call = asView ? invokeForView : invoke;
  const { fields, methods } = describeType(type);
  const isNew = (name: string): boolean => !reserved.has(name) && !Object.hasOwn(prototype, name);
  for (const [index, { name, flags, getter, offset }] of fields.entries()) {
    if (!isNew(name)) continue;
    Object.defineProperty(prototype, name, {
      configurable: true,
      enumerable: true,
      get(this: FFIObject) {
        return getField(handleOf(this).pointer, getter, offset, asView);
      },
      set(this: FFIObject, value: unknown) {
        if ((flags & MemberFlag.writable) === 0)
          throw new ArgumentValueError(name, 'a field that can be written', name);
        setField(handleOf(this).pointer, type, index, value);
      },
    });
  }
  for (const [index, { name, flags }] of methods.entries()) {
    if (!isNew(name) || isPrivate(name) || (flags & MemberFlag.isStatic) !== 0) continue;
    let pointer = 0;
    Object.defineProperty(prototype, name, {
      configurable: true,
      writable: true,
      value: function method(this: FFIObject, ...args: unknown[]) {
        if (pointer === 0) pointer = methodOf(type, index).pointer;
        return call(pointer, [this, ...args]);
      },
    });
  }
}

/** Static methods are native functions, each found on first use. */
function defineStatics(made: object, type: number, methods: readonly Member[]): void {
  for (const [index, { name, flags }] of methods.entries()) {
    if (reserved.has(name) || isPrivate(name) || (flags & MemberFlag.isStatic) === 0) continue;
    const define = (value: unknown) => Object.defineProperty(made, name, { configurable: true, writable: true, value });
    Object.defineProperty(made, name, {
      configurable: true,
      get() {
        const { pointer, reference } = methodOf(type, index);
        const method = operations.functionAt(pointer, reference);
        define(method);
        return method;
      },
      set: define,
    });
  }
}

const isPrivate = (name: string): boolean => name.startsWith('__ffi_');

/** Lets the library print the fields, including those of nested objects. */
function defineText(made: { readonly prototype: FFIObject }): void {
  const text = function text(this: FFIObject): string {
    return operations.invoke(builtin('ffi.ReprPrint'), [this]) as string;
  };
  for (const name of ['toString', Symbol.for('nodejs.util.inspect.custom')]) {
    Object.defineProperty(made.prototype, name, { configurable: true, writable: true, value: text });
  }
}
