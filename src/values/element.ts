/** One element in memory: converts bits at a bit offset to a JavaScript value and back, for every dtype. */

import { type Complex, type DTypeInfo, dtypeFromName, isComplex, TypeCode } from '../dtype.js';
import { ArgumentTypeError, ArgumentValueError } from '../errors.js';
import { miniFloat } from './minifloat.js';

/** The JavaScript value of an element. */
export type ElementValue = number | bigint | boolean | Complex | Uint8Array | readonly ElementValue[];

/** Reads and writes elements of one dtype. `bit` counts from the start of the view, least significant bit first. */
export interface ElementCodec {
  read(view: DataView, bit: number): ElementValue;
  write(view: DataView, bit: number, value: unknown): void;
}

/** `width` bits (1 to 8, or 16 on a byte border), least significant first, across byte borders. */
export function readBits(view: DataView, bit: number, width: number): number {
  if (width === 16) return view.getUint16(bit / 8, true);
  const byte = Math.floor(bit / 8);
  const shift = bit % 8;
  const low = view.getUint8(byte);
  const high = shift + width > 8 ? view.getUint8(byte + 1) : 0;
  return ((low | (high << 8)) >> shift) & (2 ** width - 1);
}

/** The inverse of {@link readBits}. The neighbouring bits stay unchanged. */
export function writeBits(view: DataView, bit: number, width: number, value: number): void {
  if (width === 16) {
    view.setUint16(bit / 8, value, true);
    return;
  }
  const byte = Math.floor(bit / 8);
  const shift = bit % 8;
  const mask = (2 ** width - 1) << shift;
  const shifted = value << shift;
  view.setUint8(byte, (view.getUint8(byte) & ~mask) | (shifted & mask));
  if (shift + width > 8) {
    view.setUint8(byte + 1, (view.getUint8(byte + 1) & ~(mask >> 8)) | ((shifted & mask) >> 8));
  }
}

function integerCodec({ name, bits, code }: DTypeInfo): ElementCodec {
  const signed = code === TypeCode.int;
  const low = signed ? -(2 ** (bits - 1)) : 0;
  const high = signed ? 2 ** (bits - 1) - 1 : 2 ** bits - 1;
  const check = (value: unknown): number => {
    const number = typeof value === 'bigint' ? Number(value) : value;
    if (typeof number !== 'number') throw new ArgumentTypeError('value', `an integer for ${name}`, value);
    if (!Number.isInteger(number) || number < low || number > high) {
      throw new ArgumentValueError('value', `an integer from ${low} to ${high} for ${name}`, value);
    }
    return number;
  };
  const wrap = 2 ** bits;
  if (bits === 32) {
    return {
      read: (view, bit) => (signed ? view.getInt32(bit / 8, true) : view.getUint32(bit / 8, true)),
      write: (view, bit, value) => view.setInt32(bit / 8, check(value), true),
    };
  }
  return {
    read: (view, bit) => {
      const raw = readBits(view, bit, bits);
      return raw > high ? raw - wrap : raw;
    },
    write: (view, bit, value) => {
      const number = check(value);
      writeBits(view, bit, bits, number < 0 ? number + wrap : number);
    },
  };
}

function wideIntegerCodec({ name, bits, code }: DTypeInfo): ElementCodec {
  const signed = code === TypeCode.int;
  const low = signed ? -(1n << BigInt(bits - 1)) : 0n;
  const high = signed ? (1n << BigInt(bits - 1)) - 1n : (1n << BigInt(bits)) - 1n;
  return {
    read: (view, bit) => {
      let raw = view.getBigUint64(bit / 8, true);
      if (bits === 128) raw |= view.getBigUint64(bit / 8 + 8, true) << 64n;
      return signed ? BigInt.asIntN(bits, raw) : raw;
    },
    write: (view, bit, value) => {
      if (typeof value !== 'bigint' && typeof value !== 'number') {
        throw new ArgumentTypeError('value', `a bigint or an integer for ${name}`, value);
      }
      const integral = typeof value === 'bigint' || Number.isInteger(value);
      const big = integral ? BigInt(value) : 0n;
      if (!integral || big < low || big > high) {
        throw new ArgumentValueError('value', `an integer from ${low} to ${high} for ${name}`, value);
      }
      view.setBigUint64(bit / 8, BigInt.asUintN(64, big), true);
      if (bits === 128) view.setBigUint64(bit / 8 + 8, BigInt.asUintN(64, big >> 64n), true);
    },
  };
}

function checkNumber(value: unknown, name: string): number {
  if (typeof value === 'number') return value;
  if (typeof value === 'bigint') return Number(value);
  throw new ArgumentTypeError('value', `a number for ${name}`, value);
}

/** Writes every NaN as the positive quiet NaN, because engines differ in its sign and payload. */
function floatCodec({ name, bits, base }: DTypeInfo): ElementCodec {
  if (bits === 64) {
    return {
      read: (view, bit) => view.getFloat64(bit / 8, true),
      write: (view, bit, value) => {
        const number = checkNumber(value, name);
        if (!Number.isNaN(number)) view.setFloat64(bit / 8, number, true);
        else view.setBigUint64(bit / 8, 0x7ff8000000000000n, true);
      },
    };
  }
  if (bits === 32) {
    return {
      read: (view, bit) => view.getFloat32(bit / 8, true),
      write: (view, bit, value) => {
        const number = checkNumber(value, name);
        if (!Number.isNaN(number)) view.setFloat32(bit / 8, number, true);
        else view.setUint32(bit / 8, 0x7fc00000, true);
      },
    };
  }
  if (bits === 128) {
    return {
      read: (view, bit) => new Uint8Array(view.buffer, view.byteOffset + bit / 8, 16).slice(),
      write: (view, bit, value) => {
        if (!(value instanceof Uint8Array) || value.length !== 16) {
          throw new ArgumentTypeError('value', 'the 16 raw bytes of a float128 (Uint8Array)', value);
        }
        new Uint8Array(view.buffer, view.byteOffset + bit / 8, 16).set(value);
      },
    };
  }
  const codec = miniFloat(base) as NonNullable<ReturnType<typeof miniFloat>>;
  return {
    read: (view, bit) => codec.decode(readBits(view, bit, bits)),
    write: (view, bit, value) => writeBits(view, bit, bits, codec.encode(checkNumber(value, name))),
  };
}

const boolCodec: ElementCodec = {
  read: (view, bit) => view.getUint8(bit / 8) !== 0,
  write: (view, bit, value) => {
    if (typeof value !== 'boolean' && value !== 0 && value !== 1) {
      throw new ArgumentTypeError('value', 'true, false, 0 or 1 for bool', value);
    }
    view.setUint8(bit / 8, value ? 1 : 0);
  },
};

function complexCodec(part: ElementCodec, partBits: number): ElementCodec {
  return {
    read: (view, bit) => ({ re: part.read(view, bit) as number, im: part.read(view, bit + partBits) as number }),
    write: (view, bit, value) => {
      const { re, im } =
        typeof value === 'number'
          ? { re: value, im: 0 }
          : typeof value === 'object' && value !== null
            ? (value as Partial<Complex>)
            : {};
      if (typeof re !== 'number' || typeof im !== 'number') {
        throw new ArgumentTypeError('value', 'a number or { re, im } for a complex dtype', value);
      }
      part.write(view, bit, re);
      part.write(view, bit + partBits, im);
    },
  };
}

/** The codec of a vector whose lanes are `step` bits apart. */
export function lanesCodec({ name, base, lanes }: DTypeInfo, step: number): ElementCodec {
  const lane = elementCodec(dtypeFromName(base));
  return {
    read: (view, bit) => Array.from({ length: lanes }, (_, i) => lane.read(view, bit + i * step)),
    write: (view, bit, value) => {
      const values = value as ArrayLike<unknown> | null;
      if (typeof values !== 'object' || values === null || values.length !== lanes) {
        throw new ArgumentTypeError('value', `an array of ${lanes} values for ${name}`, value);
      }
      for (let i = 0; i < lanes; i++) lane.write(view, bit + i * step, values[i]);
    },
  };
}

/** The dtype of the real and the imaginary part of a complex dtype. */
export function partOf({ code, bits }: DTypeInfo): DTypeInfo {
  return dtypeFromName(code === TypeCode.bcomplex ? 'bfloat16' : `float${bits / 2}`);
}

function make(dtype: DTypeInfo): ElementCodec {
  if (dtype.lanes > 1) return lanesCodec(dtype, dtype.bits);
  switch (dtype.code) {
    case TypeCode.int:
    case TypeCode.uint:
      return dtype.bits > 32 ? wideIntegerCodec(dtype) : integerCodec(dtype);
    case TypeCode.handle:
      return wideIntegerCodec(dtype);
    case TypeCode.bool:
      return boolCodec;
    default:
      return isComplex(dtype) ? complexCodec(elementCodec(partOf(dtype)), dtype.bits / 2) : floatCodec(dtype);
  }
}

const cache = new Map<DTypeInfo, ElementCodec>();

/** The codec of a dtype. */
export function elementCodec(dtype: DTypeInfo): ElementCodec {
  let codec = cache.get(dtype);
  if (codec === undefined) {
    codec = make(dtype);
    cache.set(dtype, codec);
  }
  return codec;
}
