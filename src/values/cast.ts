/** Casts of values between dtypes (docs/concepts/values.md). native/convert has the same rules. */

import { type Complex, type DTypeInfo, TypeCode } from '../dtype.js';
import type { ElementValue } from './element.js';

type Cast = (value: ElementValue) => number | bigint | boolean;

function isInteger({ code }: DTypeInfo): boolean {
  return code === TypeCode.int || code === TypeCode.uint || code === TypeCode.handle;
}

/** The function that turns a value of one scalar type into a value that the other type can store. */
export function castBetween(from: DTypeInfo, to: DTypeInfo): Cast {
  if (to.code === TypeCode.bool) return isTrue;
  if (isInteger(to)) return isInteger(from) || from.code === TypeCode.bool ? wrapTo(to) : saturateTo(to);
  // Round only once: Number() rounds to float64, and the target type rounds otherwise.
  return to.bits === 64
    ? (value) => Number(value)
    : (value) => (typeof value === 'bigint' ? toOdd(value) : Number(value));
}

function isTrue(value: ElementValue): boolean {
  if (typeof value !== 'object') return typeof value === 'bigint' ? value !== 0n : value !== 0 && value !== false;
  const { re, im } = value as Complex;
  return re !== 0 || im !== 0;
}

/** Modulo 2^bits, as in C and NumPy. */
function wrapTo({ code, bits }: DTypeInfo): Cast {
  const signed = code === TypeCode.int;
  if (bits > 32) {
    const wrap = signed ? BigInt.asIntN : BigInt.asUintN;
    return (value) => wrap(bits, BigInt(value as bigint | number | boolean));
  }
  const unused = 32 - bits;
  return (value) => {
    const low = typeof value === 'bigint' ? Number(BigInt.asIntN(32, value)) : Number(value);
    return signed ? (low << unused) >> unused : (low << unused) >>> unused;
  };
}

/** Truncates towards zero and clamps to the range; NaN becomes zero. C and NumPy leave both cases undefined. */
function saturateTo({ code, bits }: DTypeInfo): Cast {
  const limit = code === TypeCode.int ? 2 ** (bits - 1) : 2 ** bits;
  const low = code === TypeCode.int ? -limit : 0;
  if (bits <= 32) {
    return (value) => (Number.isNaN(value) ? 0 : Math.trunc(Math.min(Math.max(value as number, low), limit - 1)));
  }
  const highest = BigInt(limit) - 1n;
  return (value) => {
    const number = value as number;
    if (!(number > low)) return Number.isNaN(number) ? 0n : BigInt(low);
    return number >= limit ? highest : BigInt(Math.trunc(number));
  };
}

/**
 * Rounds to odd: the last of 53 bits records that bits were cut off, so rounding the result again equals rounding the
 * integer once.
 */
function toOdd(value: bigint): number {
  const magnitude = value < 0n ? -value : value;
  const cut = magnitude.toString(2).length - 53;
  if (cut <= 0) return Number(value);
  const kept = magnitude >> BigInt(cut);
  const odd = Number(kept << BigInt(cut) === magnitude ? kept : kept | 1n) * 2 ** cut;
  return value < 0n ? -odd : odd;
}
