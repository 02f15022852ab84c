/** The options of `astype`: a scale and an offset, for all elements or for each position on an axis. */

import { checkOptions, type OptionNames } from '../base/options.js';
import { type DTypeInfo, isComplex } from '../dtype.js';
import { ArgumentTypeError, ArgumentValueError, LayoutError, UnsupportedDTypeError, Words } from '../errors.js';
import type { Descriptor } from '../storage/descriptor.js';
import type { Scaling } from '../storage/scaling.js';
import { checkAxis } from '../view-layout.js';

/** One number for all elements, or one for each position on the axis. */

/** Options of `astype`: the result is `x * scale + offset`. */
export interface ScaleOptions {
  /** Multiplies each element; 1 when absent. */
  scale?: number | ArrayLike<number>;
  /** Is added to each product; 0 when absent. */
  offset?: number | ArrayLike<number>;
  /**
   * The axis whose positions have a scale and an offset each, such as the channels of an image; none when absent.
   * Needed for arrays of them.
   */
  axis?: number;
}

const names: OptionNames<ScaleOptions> = { scale: true, offset: true, axis: true };

/** The scale and offset of each position, checked; null without any. */
export function readScaling(options: ScaleOptions, source: Descriptor, dtype: DTypeInfo): Scaling | null {
  checkOptions(options, names, '{ scale: 1 / 255 }');
  const { scale = 1, offset = 0, axis } = options;
  if (options.scale === undefined && options.offset === undefined) {
    if (axis === undefined) return null;
    throw new ArgumentTypeError('options', 'a scale or an offset for the axis', new Words('neither'));
  }
  const other = [source.dtype, dtype].find((each) => isComplex(each) || each.base === 'float128');
  if (other !== undefined) {
    throw new UnsupportedDTypeError(
      other.name,
      `Expected real dtypes that JavaScript has values for, for a scale and an offset, but received '${other.name}'`,
    );
  }
  checkFactors('scale', scale);
  checkFactors('offset', offset);
  if (typeof scale === 'number' && typeof offset === 'number') {
    if (axis !== undefined) checkAxis(axis, source.shape.length);
    return { scale: Float64Array.of(scale), offset: Float64Array.of(offset), axis: -1 };
  }
  if (axis === undefined) {
    throw new ArgumentTypeError('axis', 'the axis of the scales and offsets, such as -1', axis);
  }
  const at = checkAxis(axis, source.shape.length);
  const length = source.shape[at] as number;
  return {
    scale: factorsOf('scale', scale, length, at),
    offset: factorsOf('offset', offset, length, at),
    axis: at,
  };
}

/** Throws unless these are factors. It comes before the check of the axis, which only arrays need. */
function checkFactors(name: string, given: number | ArrayLike<number>): void {
  if (typeof given === 'number' || (typeof given === 'object' && typeof given?.length === 'number')) return;
  throw new ArgumentTypeError(name, 'a number or an array of numbers', given);
}

function factorsOf(name: string, given: number | ArrayLike<number>, length: number, axis: number): Float64Array {
  if (typeof given === 'number') return new Float64Array(length).fill(given);
  if (given.length !== length) {
    throw new LayoutError(
      `Expected ${length} numbers in ${name}, one for each position on axis ${axis}, but received ${given.length}`,
    );
  }
  return Float64Array.from(given, (number, i) => {
    if (typeof number !== 'number') throw new ArgumentValueError(`${name}[${i}]`, 'a number', number);
    return number;
  });
}
