/** Small floating-point formats: one decoder and one encoder over a table of formats. */

import type { BaseDType } from '../dtype.js';
import { smallFloats } from '../dtype-table.js';

/** The special values at the top of the range: infinities and NaNs, one NaN, NaN in place of -0, or only numbers. */
export type Specials = 'ieee' | 'fn' | 'fnuz' | 'none';

export interface Format {
  readonly exponentBits: number;
  readonly mantissaBits: number;
  readonly bias: number;
  readonly specials: Specials;
}

const formats: Partial<Record<BaseDType, Format>> = smallFloats;

/** Reads and writes the bit pattern of one format. */
export interface MiniFloat {
  decode(bits: number): number;
  encode(value: number): number;
}

function make({ exponentBits, mantissaBits, bias, specials }: Format): MiniFloat {
  const mantissaCount = 2 ** mantissaBits;
  const signBit = 2 ** (exponentBits + mantissaBits);
  const topExponent = 2 ** exponentBits - 1;
  const smallest = 2 ** (1 - bias - mantissaBits);
  const maxCode = specials === 'ieee' ? topExponent * mantissaCount - 1 : specials === 'fn' ? signBit - 2 : signBit - 1;
  const nanCode =
    specials === 'ieee' ? topExponent * mantissaCount + mantissaCount / 2 : specials === 'fn' ? signBit - 1 : signBit;

  const decode = (bits: number): number => {
    const negative = bits >= signBit;
    const code = negative ? bits - signBit : bits;
    if (specials === 'fnuz' && negative && code === 0) return Number.NaN;
    if (code > maxCode) {
      if (specials === 'ieee' && code === topExponent * mantissaCount) return negative ? -Infinity : Infinity;
      return Number.NaN;
    }
    const exponent = Math.floor(code / mantissaCount);
    const mantissa = code % mantissaCount;
    const magnitude =
      exponent === 0 ? mantissa * smallest : (mantissaCount + mantissa) * smallest * 2 ** (exponent - 1);
    return negative ? -magnitude : magnitude;
  };

  const encode = (value: number): number => {
    const negative = value < 0 || Object.is(value, -0);
    const sign = negative ? signBit : 0;
    if (Number.isNaN(value)) return specials === 'none' ? signBit : nanCode;
    const overflow =
      specials === 'ieee'
        ? sign + topExponent * mantissaCount
        : specials === 'none'
          ? sign + maxCode
          : nanCode + (specials === 'fn' ? sign : 0);
    const magnitude = Math.abs(value);
    if (magnitude === Infinity) return overflow;
    const exponent = Math.max(exponentOf(magnitude), 1 - bias);
    // Division by a power of two is exact, so only the next line rounds.
    const quotient = magnitude / 2 ** (exponent - mantissaBits);
    const code = (exponent + bias - 1) * mantissaCount + roundHalfEven(quotient);
    if (code > maxCode) return overflow;
    if (specials === 'fnuz' && code === 0) return 0;
    return sign + code;
  };
  return { decode, encode };
}

/** Powers of two from 2^-127 to 2^127 and one NaN; no sign and no zero. */
const e8m0fnu: MiniFloat = {
  decode: (bits) => (bits === 255 ? Number.NaN : 2 ** (bits - 127)),
  encode: (value) => {
    if (!(value > 0) || value === Infinity) return 255;
    const exponent = exponentOf(value);
    // In units of the lower power of two, 1.5 is halfway between 1 and 2, and 2 is the even choice.
    const code = exponent + 127 + (value / 2 ** exponent >= 1.5 ? 1 : 0);
    return code > 254 ? 255 : Math.max(code, 0);
  },
};

const scratch = new DataView(new ArrayBuffer(8));

/**
 * floor(log2(x)) for finite x > 0, from the bits, because Math.log2 rounds. Subnormal doubles are below the range of
 * every format here.
 */
function exponentOf(value: number): number {
  scratch.setFloat64(0, value);
  return ((scratch.getUint16(0) >> 4) & 0x7ff) - 1023;
}

function roundHalfEven(value: number): number {
  const down = Math.floor(value);
  const rest = value - down;
  return rest > 0.5 || (rest === 0.5 && down % 2 === 1) ? down + 1 : down;
}

/** The format of a dtype, or undefined when it is not a small float with a sign. */
export function formatOf(base: BaseDType): Format | undefined {
  return formats[base];
}

const cache = new Map<BaseDType, MiniFloat>();

/** The codec of a dtype, or undefined when it is not a small float. */
export function miniFloat(base: BaseDType): MiniFloat | undefined {
  const known = cache.get(base);
  if (known !== undefined) return known;
  const found = base === 'float8_e8m0fnu' ? e8m0fnu : formats[base] && make(formats[base]);
  if (found !== undefined) cache.set(base, found);
  return found;
}
