/** Arguments that JavaScript has no value for: keyword arguments, and floats with whole values. */

import { checkObject } from '../../base/options.js';
import { ArgumentTypeError } from '../../errors.js';

/**
 * Keyword arguments, made with `kwargs({ ... })`, as the last argument of a call.
 *
 * @example
 * ```ts
 * import { type Keywords, kwargs, python } from 'dlpack/python';
 * const hex: Keywords = kwargs({ base: 16 });
 * console.log(python().import('builtins').int('ff', hex)); // 255
 * ```
 */
export class Keywords {
  constructor(
    /** The arguments by name. */
    readonly values: { readonly [name: string]: unknown },
  ) {}
}

/**
 * Makes keyword arguments: `f(x, kwargs({ dim: 1 }))` is Python's `f(x, dim=1)`.
 *
 * @param values - The arguments by name.
 * @returns A value that only a call of Python takes, as its last argument.
 * @throws ArgumentTypeError for anything but a plain object; for a Map, write `kwargs(Object.fromEntries(map))`.
 * @example
 * ```ts
 * import { kwargs, python } from 'dlpack/python';
 * const builtins = python().import('builtins');
 * console.log(builtins.int('ff', kwargs({ base: 16 }))); // 255
 * ```
 */
export function kwargs(values: { readonly [name: string]: unknown }): Keywords {
  checkObject(values, '{ dim: 1 }', 'keywords');
  // A Map or a Python dict has entries but no properties, so the call would have no keyword arguments.
  if (Symbol.iterator in values) {
    const advice = 'write kwargs(Object.fromEntries(map))';
    throw new ArgumentTypeError('keywords', 'an object such as { dim: 1 }', values, advice);
  }
  return new Keywords(values);
}

/**
 * A number that Python receives as a float even if it is whole. Made with `py.float(1)`.
 *
 * @example
 * ```ts
 * import { type PyFloat, python } from 'dlpack/python';
 * const py = python();
 * const one: PyFloat = py.float(1);
 * const { repr } = py.import('builtins');
 * console.log(repr(one), repr(1)); // 1.0 1
 * ```
 */
export class PyFloat {
  constructor(
    /** The number. */
    readonly value: number,
  ) {}
}

/**
 * Makes a Python float of a number: `f(float(1))` is Python's `f(1.0)`. A bare whole number becomes an int in Python.
 *
 * @param value - The number.
 * @returns A value that only a call of Python takes.
 * @throws ArgumentTypeError for anything but a number.
 */
export function float(value: number): PyFloat {
  if (typeof value !== 'number') throw new ArgumentTypeError('value', 'a number', value);
  return new PyFloat(value);
}
