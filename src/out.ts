/** The option `out`: memory that receives what otherwise is in a new tensor. */

import type { OptionNames } from './base/options.js';
import type { DTypeInfo } from './dtype.js';
import { UnsupportedDTypeError } from './errors.js';
import type { Descriptor } from './storage/descriptor.js';
import { checkOut } from './values/copy.js';
import type { ArangeOptions } from './values/range.js';
import { checkTensor, type TensorView, writable } from './view.js';

/** The option of `Tensor.full` that fills existing memory. */
export interface FullIntoOptions<T extends TensorView> {
  /** Receives the elements, and is the result. It has the shape and the dtype that are given, and is on any device. */
  out: T;
}

/** Options of `Tensor.arange` that write the values into existing memory. */
export interface ArangeIntoOptions<T extends TensorView> extends Omit<ArangeOptions, 'device'>, FullIntoOptions<T> {}

/** With `out` there is no device, because it has its own. */
export const fullIntoNames: OptionNames<FullIntoOptions<TensorView>> = { out: true };
export const arangeIntoNames: OptionNames<ArangeIntoOptions<TensorView>> = { start: true, step: true, out: true };

/** The memory of `out`, which has the shape and the dtype of the result. */
export function memoryOfOut(out: TensorView, shape: readonly number[], dtype: DTypeInfo): Descriptor {
  const target = writable(checkTensor(out, 'out'), 'out');
  const { name } = target.dtype;
  if (target.dtype !== dtype) {
    throw new UnsupportedDTypeError(name, `Expected dtype '${dtype.name}' for out but received '${name}'`);
  }
  checkOut(target, shape);
  return target;
}
