/**
 * A class for each type that native code registered, with the fields and methods that it declares. Reading a field and
 * calling a method are calls, and calls return objects, so the operations are a parameter here, and this module is
 * below calls.ts.
 *
 * @module
 */

import { ArgumentTypeError, ArgumentValueError } from '../errors.js';
import { wire } from '../native/wire.js';
import { WireHeader } from '../native/wire-layout.js';
import { Type } from './any.js';
import { TVMFFIError, takeRaised } from './errors.js';
import { builtin } from './globals.js';
import { hostTypeOf } from './host-objects.js';
import { ffi, library } from './library.js';
import type { ArrayView, MapView } from './live-containers.js';
import {
  adoptObject,
  ObjectHandle,
  type Referenced,
  recognise,
  remember,
  rememberObject,
  rememberViewed,
  standIns,
} from './objects.js';
import { enter, leave, request } from './slot.js';
import { FFIObject, handleOf } from './values.js';
import { MethodRequest, TypeRequest } from './wire-layout.js';

const { f64, i32, u32 } = wire;
const WRITABLE = 1;
const STATIC = 4;

/** The native operations that the classes use. */
export interface ObjectOperations {
  invoke(pointer: number, args: readonly unknown[]): unknown;
  /** The same, but an Array or Map that the function returns becomes a view. */
  invokeForView(pointer: number, args: readonly unknown[]): unknown;
  /** `asView`: an Array or Map becomes a view instead of a copy. */
  getField(pointer: number, getter: number, offset: number, asView: boolean): unknown;
  setField(pointer: number, type: number, index: number, value: unknown): void;
  wrapFunction(handle: ObjectHandle): (...args: unknown[]) => unknown;
}

/** The class of a registered type. `T` describes its fields and methods. */
export interface ObjectClass<T extends object = object> {
  /** Calls the constructor that the type registered. */
  new (...args: unknown[]): FFIObject & T;
  /** Makes an object from the values of its fields. Fields with a default may be omitted. */
  fromFields(fields: Partial<T>): FFIObject & T;
  readonly prototype: FFIObject & T;
}

interface Member {
  readonly name: string;
  readonly flags: number;
  /** JSON with the type of the member. */
  readonly metadata: string;
}

interface Field extends Member {
  /** The address of the function that reads it, as the double with the same bits. */
  readonly getter: number;
  readonly offset: number;
}

interface TypeDescription {
  readonly key: string;
  /** -1 for the root. */
  readonly parent: number;
  readonly fields: readonly Field[];
  readonly methods: readonly Member[];
}

const descriptions = new Map<number, TypeDescription>();

/** The library's description of a type, which is read once. */
function describe(type: number): TypeDescription {
  let description = descriptions.get(type);
  if (description === undefined) {
    const slot = enter(TypeRequest.WORDS);
    i32[slot * 2 + TypeRequest.TYPE] = type;
    const read = request(slot, () => ffi.readType());
    if (read === undefined) throw takeRaised();
    const [key, parent, fields, methods] = read;
    description = { key, parent, fields: fieldsOf(fields), methods: methodsOf(methods) };
    descriptions.set(type, description);
  }
  return description;
}

function fieldsOf(flat: readonly (string | number)[]): Field[] {
  const fields: Field[] = [];
  for (let i = 0; i < flat.length; i += 5) {
    const [name, flags, metadata, getter, offset] = flat.slice(i) as [string, number, string, number, number];
    fields.push({ name, flags, metadata, getter, offset });
  }
  return fields;
}

function methodsOf(flat: readonly (string | number)[]): Member[] {
  const members: Member[] = [];
  for (let i = 0; i < flat.length; i += 3) {
    const [name, flags, metadata] = flat.slice(i) as [string, number, string];
    members.push({ name, flags, metadata });
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

/** What a program can use of a type, for declarations. */
export interface TypeMembers {
  readonly key: string;
  /** The key of the type that it is derived from. */
  readonly parent: string | null;
  readonly fields: readonly { readonly name: string; readonly isWritable: boolean; readonly metadata: string }[];
  /** Without static methods, which are methods of the class. */
  readonly methods: readonly { readonly name: string; readonly metadata: string }[];
}

/** The members of the type with a key. */
export function membersOfType(key: string): TypeMembers {
  const { parent, fields, methods } = describe(findType(key) as number);
  return {
    key,
    parent: parent < 0 ? null : describe(parent).key,
    fields: fields.map(({ name, flags, metadata }) => ({ name, isWritable: (flags & WRITABLE) !== 0, metadata })),
    methods: methods.filter(({ name, flags }) => (flags & STATIC) === 0 && !name.startsWith('__')),
  };
}

/** True when the native object of a value has the type with this key, or a type derived from it. */
export function isInstance(value: unknown, key: string): boolean {
  if (typeof key !== 'string') throw new ArgumentTypeError('key', 'the key of a type', key);
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false;
  const found = standIns.get(value) ?? (value instanceof FFIObject ? handleOf(value) : hostTypeOf(value));
  if (found === undefined) return false;
  const wanted = findType(key);
  for (let { type } = found; type >= 0; type = describe(type).parent) if (type === wanted) return true;
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

export class ObjectClasses {
  private readonly classes = new Map<number, AnyClass>();
  private readonly liveClasses = new Map<number, AnyClass>();
  private readonly operations: ObjectOperations;

  constructor(operations: ObjectOperations) {
    this.operations = operations;
  }

  /** Makes the object for a handle, with the class of its type. */
  wrap(handle: ObjectHandle): FFIObject {
    const made = ffi.isReflective ? this.classOf(handle.type) : FFIObject;
    return Reflect.construct(made, [handle]) as FFIObject;
  }

  /** The class of the type with a key. */
  find(key: string): AnyClass {
    if (typeof key !== 'string') throw new ArgumentTypeError('key', 'the key of a type', key);
    const type = findType(key);
    if (type === null) throw new ArgumentValueError('key', 'the key of a registered type', key);
    return this.classOf(type);
  }

  private classOf(type: number): AnyClass {
    let made = this.classes.get(type);
    if (made === undefined) {
      made = this.make(type);
      this.classes.set(type, made);
    }
    return made;
  }

  private make(type: number): AnyClass {
    const description = describe(type);
    const { invoke } = this.operations;
    const parent = description.parent < 0 ? FFIObject : this.classOf(description.parent);
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
    this.defineFields(made.prototype, type, description.fields, false);
    this.defineMethods(made.prototype, type, description.methods, invoke);
    this.defineStatics(made, type, description.methods);
    if (parent === FFIObject) defineText(made, invoke);
    return made as unknown as AnyClass;
  }

  /** The same native object, but its fields and methods return views of arrays and maps. */
  live(object: FFIObject): FFIObject {
    const handle = handleOf(object);
    const view = Reflect.construct(FFIObject, [handle], this.liveClassOf(handle.type)) as FFIObject;
    return rememberViewed(handle, object, view);
  }

  private liveClassOf(type: number): AnyClass {
    let made = this.liveClasses.get(type);
    if (made === undefined) {
      made = class extends this.classOf(type) {} as AnyClass;
      Object.defineProperty(made, 'name', { value: this.classOf(type).name });
      for (let at = type; at >= 0; at = describe(at).parent) {
        const { fields, methods } = describe(at);
        const isNew = ({ name }: Member) => !Object.hasOwn((made as AnyClass).prototype, name);
        this.defineFields(made.prototype, at, fields, true, isNew);
        this.defineMethods(made.prototype, at, methods, this.operations.invokeForView, isNew);
      }
      this.liveClasses.set(type, made);
    }
    return made;
  }

  private defineFields(
    prototype: FFIObject,
    type: number,
    fields: readonly Field[],
    asView: boolean,
    isWanted: (field: Field) => boolean = () => true,
  ): void {
    const { getField, setField } = this.operations;
    for (const [index, field] of fields.entries()) {
      const { name, flags, getter, offset } = field;
      if (reserved.has(name) || !isWanted(field)) continue;
      Object.defineProperty(prototype, name, {
        configurable: true,
        enumerable: true,
        get(this: FFIObject) {
          return getField(handleOf(this).pointer, getter, offset, asView);
        },
        set(this: FFIObject, value: unknown) {
          if ((flags & WRITABLE) === 0) throw new ArgumentValueError(name, 'a field that can be written', name);
          setField(handleOf(this).pointer, type, index, value);
        },
      });
    }
  }

  private defineMethods(
    prototype: FFIObject,
    type: number,
    methods: readonly Member[],
    invoke: ObjectOperations['invoke'],
    isWanted: (method: Member) => boolean = () => true,
  ): void {
    for (const [index, method] of methods.entries()) {
      const { name, flags } = method;
      if (!isMethod(name) || (flags & STATIC) !== 0 || !isWanted(method)) continue;
      let pointer = 0;
      Object.defineProperty(prototype, name, {
        configurable: true,
        writable: true,
        value: function method(this: FFIObject, ...args: unknown[]) {
          if (pointer === 0) pointer = methodOf(type, index).pointer;
          return invoke(pointer, [this, ...args]);
        },
      });
    }
  }

  /** Static methods are native functions, each found on first use. */
  private defineStatics(made: object, type: number, methods: readonly Member[]): void {
    const { wrapFunction } = this.operations;
    for (const [index, { name, flags }] of methods.entries()) {
      if (!isMethod(name) || (flags & STATIC) === 0) continue;
      const define = (value: unknown) =>
        Object.defineProperty(made, name, { configurable: true, writable: true, value });
      Object.defineProperty(made, name, {
        configurable: true,
        get() {
          const { pointer, reference } = methodOf(type, index);
          const handle = adoptObject(pointer, Type.function, reference);
          const method = recognise(pointer) ?? remember(pointer, wrapFunction(handle));
          define(method);
          return method;
        },
        set: define,
      });
    }
  }
}

const isMethod = (name: string): boolean => !reserved.has(name) && !name.startsWith('__ffi_');

/** Lets the library print the fields, including those of nested objects. */
function defineText(made: { readonly prototype: FFIObject }, invoke: ObjectOperations['invoke']): void {
  const text = function text(this: FFIObject): string {
    return invoke(builtin('ffi.ReprPrint'), [this]) as string;
  };
  for (const name of ['toString', Symbol.for('nodejs.util.inspect.custom')]) {
    Object.defineProperty(made.prototype, name, { configurable: true, writable: true, value: text });
  }
}
