/** What an adapter is, and what all adapters do with an object of their library. */

import type { DType } from '../dtype.js';
import { ArgumentTypeError, ForeignError, isDLPackError, isUsable, textOf } from '../errors.js';
import type { DLPackSource } from '../protocol/managed.js';
import type { Tensor } from '../tensor.js';
import { type AdaptOptions, checkAdaptOptions } from './options.js';

/** Everything that the package knows about a library. */
export interface Adapter {
  /** The library, for messages. */
  readonly name: string;
  /** What an object of the library is called, for messages: `'an ort.Tensor'`. */
  readonly object: string;
  /** The dtypes that the library has. */
  readonly dtypes: readonly string[];
  /** True for an object of the library. Getters of a foreign object may throw. */
  is(value: object): boolean;
  /** The tensor of an object of the library. */
  from(value: never, ...more: never[]): Tensor | Promise<Tensor>;
  /** An object of the library with the elements of a tensor. */
  to(source: DLPackSource, ...more: never[]): unknown;
}

/** The dtype that a library names; any where the compiler does not know the name. */
export type NamedDType<Name> = string extends Name ? DType : [Name] extends [never] ? DType : Extract<Name, DType>;

/** How an adapter takes an object. */
interface Taking<Options extends AdaptOptions, Result> {
  readonly adapter: Adapter;
  readonly value: unknown;
  readonly options: Options | undefined;
  /** Which objects are taken, where they are more than those for which the adapter's `is` returns true. */
  readonly is?: (value: object) => boolean;
  /** The names of options that only this adapter has. */
  readonly ownOptions?: object;
  /** What to do with an object that is none of the library. */
  readonly advise?: (value: object) => string | undefined;
  /** Makes the tensor, of an object that was recognised. */
  readonly read: () => Result;
}

/**
 * The tensor of an object of a library. All that reading a malformed object throws becomes a typed error: `is` has seen a
 * few of its fields alone, and getters and methods are code of the library or of anybody.
 */
export function takeObject<Options extends AdaptOptions, Result>(taking: Taking<Options, Result>): Result {
  const { adapter, value, options, is = adapter.is, ownOptions, advise, read } = taking;
  checkAdaptOptions(options, ownOptions);
  return callLibrary(adapter.name, () => {
    const isObject = isUsable(value);
    if (isObject && is(value)) return read();
    throw new ArgumentTypeError('value', adapter.object, value, isObject ? advise?.(value) : undefined);
  });
}

/** Calls a library, or reads an object of it. Errors other than those of this package become a ForeignError. */
export function callLibrary<R>(library: string, call: () => R): R {
  try {
    return call();
  } catch (error) {
    throw foreignError(library, error);
  }
}

/** As {@link callLibrary} for a call that has to be awaited. */
export async function awaitLibrary<R>(library: string, call: () => Promise<R>): Promise<R> {
  try {
    return await call();
  } catch (error) {
    throw foreignError(library, error);
  }
}

function foreignError(library: string, cause: unknown): unknown {
  if (isDLPackError(cause)) return cause;
  return new ForeignError(library, `${library} failed: ${textOf(cause)}`, { cause });
}
