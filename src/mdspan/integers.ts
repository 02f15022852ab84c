/**
 * Exact integers: numbers up to 2^53 - 1, bigints beyond. Only extents that were made with a bigint use bigints; all
 * others compute with numbers and throw where a number is not exact.
 */

import { ArgumentTypeError, ArgumentValueError } from '../errors.js';

/** An exact integer: a number where a number is exact, a bigint where it is not. */
export type Integer = number | bigint;

/** The same integer, as a number where a number is exact. */
export function exact(value: bigint): Integer {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** Whether DLPack's int64 can hold an integer. A number must be exact. */
export function isInt64(value: unknown): value is Integer {
  return typeof value === 'bigint' ? BigInt.asIntN(64, value) === value : Number.isSafeInteger(value);
}

/** A checked copy of `count` integers, as numbers where these are exact. */
export function checkIntegers(
  values: ArrayLike<Integer>,
  argument: string,
  count: number,
  usesBigInt: boolean,
): readonly Integer[] {
  if (typeof values !== 'object' || values?.length !== count) {
    throw new ArgumentTypeError(argument, `${count} integers`, values);
  }
  return Array.from(values, (value, i) => checkInteger(value, `${argument}[${i}]`, usesBigInt));
}

/** A checked integer, as a number where that is exact. Without `usesBigInt` it must be exact as a number. */
export function checkInteger(value: Integer, argument: string, usesBigInt: boolean): Integer {
  if (typeof value !== 'number' && typeof value !== 'bigint') {
    throw new ArgumentTypeError(argument, 'an integer', value);
  }
  if (!usesBigInt && !Number.isSafeInteger(Number(value))) {
    const advice = 'the option { bigint: true } accepts larger bigints';
    throw new ArgumentValueError(argument, 'an integer of at most 2^53 - 1', value, advice);
  }
  if (!isInt64(value)) {
    throw new ArgumentValueError(argument, 'an integer up to 2^53 - 1, or a bigint up to 2^63 - 1', value);
  }
  return typeof value === 'bigint' ? exact(value) : value;
}

/** The exact product. A safe product of rounded factors is exact. */
export function multiply(a: Integer, b: Integer): Integer {
  const product = Number(a) * Number(b);
  return Number.isSafeInteger(product) ? product : exact(BigInt(a) * BigInt(b));
}

/** The exact sum. */
export function add(a: Integer, b: Integer): Integer {
  return typeof a === 'number' && typeof b === 'number' && Number.isSafeInteger(a + b)
    ? a + b
    : exact(BigInt(a) + BigInt(b));
}

/** The product of lengths; 1 without any. */
export function productOf(lengths: readonly Integer[]): Integer {
  return lengths.reduce(multiply, 1);
}

/** The lowest and highest element, relative to the first element. There must be elements. */
export function exactSpanOf(lengths: readonly Integer[], strides: readonly Integer[]): { low: Integer; high: Integer } {
  let low: Integer = 0;
  let high: Integer = 0;
  for (const [axis, length] of lengths.entries()) {
    const reach = multiply(add(length, -1), strides[axis] as Integer);
    if (reach < 0) low = add(low, reach);
    else high = add(high, reach);
  }
  return { low, high };
}

/** The lengths or strides for an error, whose properties are numbers; undefined when a bigint is among them. */
export function numbersOf(values: readonly Integer[]): readonly number[] | undefined {
  return values.every((value) => typeof value === 'number') ? (values as readonly number[]) : undefined;
}
