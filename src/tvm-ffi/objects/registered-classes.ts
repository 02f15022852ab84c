/** Classes of native objects by the keys of their types. */

import { ArgumentTypeError, ArgumentValueError, isA } from '../../errors.js';
import { FFIObject, objectHandle } from '../codec/values.js';
import { type ArrayView, library, type MapView, objectClasses } from '../native-values.js';
import { hostTypeOf } from './host-objects.js';
import { standIns } from './objects.js';
import { describeType, findType } from './types.js';

/** The class of a registered type. `T` describes its fields and methods. */
export interface ObjectClass<T extends object = object> {
  /** Calls the constructor that the type registered. */
  new (...args: unknown[]): FFIObject & T;
  /**
   * Makes an object from the values of its fields. Fields with a default may be omitted.
   *
   * @param fields - The values by name.
   */
  fromFields(fields: Partial<T>): FFIObject & T;
  /** What its objects inherit. */
  readonly prototype: FFIObject & T;
}

/**
 * Returns the class of a type that native code registered under a key. Its constructor calls the type's constructor,
 * and its objects have the fields and methods that the type declares. `T` describes them.
 *
 * @param key - The key, such as `'testing.TestIntPair'`.
 * @returns The class, the same one each time. The class of a derived type is a derived class.
 * @throws ArgumentTypeError for a key that is no string, ArgumentValueError for one that is not registered, and
 *   LoadError without libtvm_ffi.
 * @example
 * ```ts fragment: needs a library that registers the type
 * import { objectClass } from 'dlpack/tvm-ffi';
 * const IntPair = objectClass<{ readonly a: number; readonly b: number }>('testing.TestIntPair');
 * const pair = new IntPair(1, 2);
 * console.log(pair.a + pair.b); // 3
 * ```
 */
export function objectClass<T extends object = Record<string, unknown>>(key: string): ObjectClass<T> {
  library();
  if (typeof key !== 'string') throw new ArgumentTypeError('key', 'the key of a type', key);
  const type = findType(key);
  if (type === null) throw new ArgumentValueError('key', 'the key of a registered type', key);
  return objectClasses.of(type) as unknown as ObjectClass<T>;
}

/**
 * Tells whether the native object of a value has the type with this key, or a type derived from it.
 *
 * @param value - Any value.
 * @param key - The key of a type, such as `'ffi.Module'`.
 * @returns False for values that have no native object, and for keys that are not registered.
 * @throws ArgumentTypeError for a key that is no string, and LoadError without libtvm_ffi.
 * @example
 * ```ts
 * import { isInstance, List } from 'dlpack/tvm-ffi';
 * console.log(isInstance(new List(), 'ffi.List'), isInstance([], 'ffi.List')); // true false
 * ```
 */
export function isInstance(value: unknown, key: string): boolean {
  if (typeof key !== 'string') throw new ArgumentTypeError('key', 'the key of a type', key);
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false;
  const found = standIns.get(value) ?? (isA(value, FFIObject) ? objectHandle(value) : hostTypeOf(value));
  if (found === undefined) return false;
  library();
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
