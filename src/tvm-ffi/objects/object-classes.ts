/** A class for each type that native code registered, with the fields and methods that it declares. */

import { ArgumentTypeError, ArgumentValueError } from '../../errors.js';
import { builtin } from '../calls/builtins.js';
import { FFIObject, objectHandle, textOf } from '../codec/values.js';
import { ffi } from '../library.js';
import { CallMode } from '../wire-layout.js';
import { findAgain, ObjectHandle, rememberObject, rememberViewed } from './objects.js';
import { constructorOf, describeType, type Member, MemberFlag, methodOf } from './types.js';

/** What the members of objects use. */
export interface Members {
  /** Calls the function at an address, in a {@link CallMode}. */
  invoke(pointer: number, args: readonly unknown[], mode?: number): unknown;
  /** The JavaScript function for a native function with a reference, the same one as long as it is alive. */
  functionAt(pointer: number, reference: number): (...args: unknown[]) => unknown;
  /** Reads a field of an object. */
  getField(pointer: number, getter: number, offset: number): unknown;
  /** The same, but an Array or Map becomes a view instead of a copy. */
  getLiveField(pointer: number, getter: number, offset: number): unknown;
  setField(pointer: number, type: number, index: number, value: unknown): void;
}

type AnyClass = (new (...args: never[]) => FFIObject) & { fromFields?: unknown };

/** Names that JavaScript itself needs. */
const reserved = new Set(['constructor', '__proto__', 'prototype', 'name', 'length', 'fromFields']);

export class ObjectClasses {
  private readonly classes = new Map<number, AnyClass>();
  private readonly liveClasses = new Map<number, AnyClass>();

  constructor(private readonly members: Members) {}

  /** Makes the object for a handle, with the class of its type. */
  wrap(handle: ObjectHandle): FFIObject {
    return Reflect.construct(ffi.isReflective ? this.of(handle.type) : FFIObject, [handle]) as FFIObject;
  }

  /** The same native object, but its fields and methods return views of arrays and maps. */
  live(object: FFIObject): FFIObject {
    const handle = objectHandle(object);
    const view = Reflect.construct(FFIObject, [handle], this.liveOf(handle.type)) as FFIObject;
    return rememberViewed(handle, object, view);
  }

  /** The class of a type. */
  of(type: number): AnyClass {
    let made = this.classes.get(type);
    if (made === undefined) {
      const { parent } = describeType(type);
      made = makeClass(type, parent < 0 ? FFIObject : this.of(parent), this.members);
      this.classes.set(type, made);
    }
    return made;
  }

  private liveOf(type: number): AnyClass {
    let made = this.liveClasses.get(type);
    if (made === undefined) {
      const base = this.of(type);
      made = class extends base {} as AnyClass;
      Object.defineProperty(made, 'name', { value: base.name });
      for (let at = type; at >= 0; at = describeType(at).parent) defineMembers(made.prototype, at, true, this.members);
      this.liveClasses.set(type, made);
    }
    return made;
  }
}

function makeClass(type: number, parent: AnyClass, members: Members): AnyClass {
  const description = describeType(type);
  const { invoke } = members;
  let init = 0;
  const construct = (args: readonly unknown[]) => {
    if (init === 0) init = constructorOf(type)?.[0] ?? 0;
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
      super(isMade ? first : objectHandle(construct(args)));
      // When native code returns this object, JavaScript gets the same object.
      if (!isMade) rememberObject(objectHandle(this), this);
    }

    static fromFields(fields: Readonly<Record<string, unknown>>): unknown {
      return invoke(builtin('ffi.MakeObjectFromPackedArgs'), [type, ...Object.entries(fields).flat()]);
    }
  };
  Object.defineProperty(made, 'name', { value: description.key.split('.').at(-1) });
  defineMembers(made.prototype, type, false, members);
  defineStatics(made, type, description.methods, members);
  if (parent === FFIObject) defineText(made, members);
  return made as unknown as AnyClass;
}

/** Defines the fields and methods that a type declares, except those that the prototype has already. */
function defineMembers(prototype: FFIObject, type: number, asView: boolean, members: Members): void {
  const { setField, invoke } = members;
  const getField = asView ? members.getLiveField : members.getField;
  const mode = asView ? CallMode.forView : CallMode.plain;
  const { fields, methods } = describeType(type);
  const isNew = (name: string): boolean => !reserved.has(name) && !Object.hasOwn(prototype, name);
  for (const [index, { name, flags, getter, offset }] of fields.entries()) {
    if (!isNew(name)) continue;
    Object.defineProperty(prototype, name, {
      configurable: true,
      enumerable: true,
      get(this: FFIObject) {
        return getField(objectHandle(this).pointer, getter, offset);
      },
      set(this: FFIObject, value: unknown) {
        if ((flags & MemberFlag.writable) === 0)
          throw new ArgumentValueError(name, 'a field that can be written', name);
        setField(objectHandle(this).pointer, type, index, value);
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
        if (pointer === 0) [pointer] = methodOf(type, index);
        return invoke(pointer, [this, ...args], mode);
      },
    });
  }
}

/** Static methods are native functions, each found on first use. */
function defineStatics(made: object, type: number, methods: readonly Member[], members: Members): void {
  for (const [index, { name, flags }] of methods.entries()) {
    if (reserved.has(name) || isPrivate(name) || (flags & MemberFlag.isStatic) === 0) continue;
    let method: object | undefined;
    Object.defineProperty(made, name, {
      configurable: true,
      get() {
        method = findAgain(method, () => members.functionAt(...methodOf(type, index)));
        return method;
      },
      set: (value: unknown) => Object.defineProperty(made, name, { configurable: true, writable: true, value }),
    });
  }
}

const isPrivate = (name: string): boolean => name.startsWith('__ffi_');

/** Lets the library print the fields, including those of nested objects. */
function defineText(made: { readonly prototype: FFIObject }, members: Members): void {
  const text = function text(this: FFIObject): string {
    return textOf(this, () => members.invoke(builtin('ffi.ReprPrint'), [this]) as string);
  };
  for (const name of ['toString', Symbol.for('nodejs.util.inspect.custom')]) {
    Object.defineProperty(made.prototype, name, { configurable: true, writable: true, value: text });
  }
}
