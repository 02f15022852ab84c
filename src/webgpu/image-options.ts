/** Checks the options of conversions between images and tensors. */

import type { ImageLayout } from '../adapters/image-options.js';
import { ArgumentTypeError, ArgumentValueError } from '../errors.js';
import type { Linear } from './image-shader.js';

/** The option if it is one of the names. */
export function oneOf<T extends string | number>(value: T, names: readonly T[], argument: string): T {
  if (names.includes(value)) return value;
  const list = names.map((name) => (typeof name === 'string' ? `'${name}'` : name)).join(' or ');
  throw new ArgumentTypeError(argument, list, value);
}

/** Three numbers, of red, green and blue. */
function three(value: number | readonly number[], argument: string): readonly number[] {
  const list = typeof value === 'number' ? [value, value, value] : value;
  const isFit = Array.isArray(list) && list.length === 3 && list.every((n) => Number.isFinite(Math.fround(n)));
  if (!isFit) throw new ArgumentTypeError(argument, 'a number, or three numbers for red, green and blue', value);
  return list;
}

/** `(value - mean) / std` of red, green and blue, and alpha as it is. */
export function normalisation({ mean = 0, std = 1 }: ImageLayout): Linear {
  const means = three(mean, 'mean');
  const factors = three(std, 'std').map((divisor) => 1 / divisor);
  if (!factors.every((factor) => Number.isFinite(Math.fround(factor)))) {
    throw new ArgumentValueError('std', 'numbers other than zero', std);
  }
  return { factors: [...factors, 1], terms: [...factors.map((factor, i) => -(means[i] as number) * factor), 0] };
}

/** The inverse: `value * std + mean`. */
export function denormalisation(layout: ImageLayout): Linear {
  const { factors, terms } = normalisation(layout);
  return {
    factors: factors.map((factor) => 1 / factor),
    terms: terms.map((term, i) => -term / (factors[i] as number)),
  };
}
