/**
 * Keyword arguments of Python.
 *
 * @module
 */

import { checkObject } from '../options.js';

/** Keyword arguments, made with `kwargs({ ... })`, as the last argument of a call. */
export class Keywords {
  readonly values: { readonly [name: string]: unknown };
  constructor(values: { readonly [name: string]: unknown }) {
    this.values = values;
  }
}

/** `f(x, kwargs({ dim: 1 }))` is Python's `f(x, dim=1)`. */
export function kwargs(values: { readonly [name: string]: unknown }): Keywords {
  checkObject(values, '{ dim: 1 }', 'keywords');
  return new Keywords(values);
}
