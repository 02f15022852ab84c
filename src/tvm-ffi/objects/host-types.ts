/**
 * Types that JavaScript classes define for native code. An object of such a class goes to native code as an object of
 * its type, whose fields and methods are those of the JavaScript object, and comes back as itself.
 */

import { checkOptions } from '../../base/options.js';
import { ArgumentTypeError, ArgumentValueError } from '../../errors.js';
import { ffi } from '../library.js';
import { library } from '../native-values.js';
import { orRaised, takeRaised } from './errors.js';
import { type FFICallback, hostTypes, makeCallback } from './host-objects.js';
import { keep } from './host-values.js';
import { disown } from './objects.js';
import { findType } from './types.js';

/** What native code may use of the objects of a class. */
export interface RegisterObjectOptions {
  /** The properties that native code can read and set as fields; none when absent. */
  fields?: readonly string[];
  /** The methods that native code can call; none when absent. */
  methods?: readonly string[];
}

type HostObject = Record<string, unknown>;

/**
 * Defines a type under a key for the objects of a class, for the whole process. Native code and Python can hold the
 * objects, and use their fields and methods on the JavaScript thread that registered the type. Arguments are checked
 * before the key is taken; only if memory runs out after that, the key stays taken.
 *
 * @param key - The key of the type, which no other type has.
 * @param objectClass - The class, which has no type yet.
 * @param options - The properties that native code may use as fields (`fields`) and the methods that it may call
 *   (`methods`); none when absent.
 * @throws ArgumentTypeError for anything but a key, a class and names.
 * @throws ArgumentValueError for a key or a class that is registered, and a name that is repeated.
 * @throws LoadError without libtvm_ffi, and TVMFFIError if it refuses the type.
 * @example
 * ```ts
 * import { getGlobalFunc, registerObject } from 'dlpack/tvm-ffi';
 * class Point {
 *   constructor(public x: number, public y: number) {}
 * }
 * registerObject('page.Point', Point, { fields: ['x', 'y'] });
 * console.log(getGlobalFunc('ffi.ReprPrint')(new Point(1, 2))); // page.Point(x=1, y=2)
 * ```
 */
export function registerObject(
  key: string,
  objectClass: abstract new (...args: never[]) => object,
  options: RegisterObjectOptions = {},
): void {
  if (typeof key !== 'string' || key === '') throw new ArgumentTypeError('key', 'the key of a type', key);
  if (typeof objectClass !== 'function' || typeof objectClass.prototype !== 'object') {
    throw new ArgumentTypeError('objectClass', 'a class', objectClass);
  }
  checkOptions(options, { fields: true, methods: true }, "{ fields: ['name'] }");
  const fields = namesOf(options.fields, 'fields');
  const methods = namesOf(options.methods, 'methods');
  const repeated = [...fields, ...methods].find((name, i, all) => all.indexOf(name) < i);
  // The library would refuse the name after it has taken the key for good.
  if (repeated !== undefined) throw new ArgumentValueError('options', 'each name once', repeated);
  library();
  if (findType(key) !== null) throw new ArgumentValueError('key', 'a key that no type has yet', key);
  if (hostTypes.has(objectClass.prototype))
    throw new ArgumentValueError('objectClass', 'a class without a type', objectClass);
  const type = orRaised(ffi.registerType(key));
  for (const [index, name] of fields.entries()) if (!ffi.registerField(type, index, name)) throw takeRaised();
  for (const name of methods) {
    const call = (self: HostObject, ...args: unknown[]) => Reflect.apply(self[name] as () => unknown, self, args);
    const [pointer, reference] = makeCallback(call as FFICallback);
    try {
      if (!ffi.registerMethod(type, name, pointer)) throw takeRaised();
    } finally {
      disown(reference); // the type has its own
    }
  }
  const access = (self: HostObject, index: number, ...value: unknown[]) => {
    const name = fields[index] as string;
    if (value.length === 0) return self[name];
    self[name] = value[0];
    return undefined;
  };
  hostTypes.set(objectClass.prototype, { type, fields, access: keep(access) });
}

function namesOf(names: unknown, option: string): readonly string[] {
  if (names === undefined) return [];
  if (!Array.isArray(names) || names.some((name) => typeof name !== 'string' || name === '')) {
    throw new ArgumentTypeError(option, 'an array of names', names);
  }
  return [...names] as string[];
}
