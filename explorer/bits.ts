/** What each bit of an element means. */

import type { DTypeInfo } from 'dlpack';

export type Part = 'sign' | 'exponent' | 'mantissa' | 'value';

/** The number of exponent bits of a float, and whether it has a sign; null for other types. */
function floatOf({ base, bits }: DTypeInfo): { exponent: number; sign: number } | null {
  const small = /^float\d_e(\d)m(\d)/.exec(base);
  if (small !== null) return { exponent: Number(small[1]), sign: bits - Number(small[1]) - Number(small[2]) };
  if (base === 'bfloat16') return { exponent: 8, sign: 1 };
  const exponent = { float16: 5, float32: 8, float64: 11, float128: 15 }[base as string];
  return exponent === undefined ? null : { exponent, sign: 1 };
}

/** The part that a bit belongs to. Bit 0 is the lowest. */
export function partOf(dtype: DTypeInfo, bit: number): Part {
  const float = floatOf(dtype);
  if (float === null) return dtype.base.startsWith('int') && bit === dtype.bits - 1 ? 'sign' : 'value';
  const top = dtype.bits - 1 - bit;
  if (top < float.sign) return 'sign';
  return top < float.sign + float.exponent ? 'exponent' : 'mantissa';
}
