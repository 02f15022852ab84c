/** NumPy's type strings, such as `'<f4'`, as the CUDA Array Interface uses them: byte order, kind, size. */

import { type DType, type DTypeInfo, dtypeFromName, dtypes } from '../../dtype.js';
import { ArgumentTypeError, ArgumentValueError, describe, UnsupportedDTypeError } from '../../errors.js';

/** The meaning of a type string. */
export interface TypeString {
  readonly text: string;
  /** `'|'`: the elements have no byte order. */
  readonly byteOrder: '<' | '>' | '|';
  /** The letter of the grammar: t b i u f c m M O S U V. */
  readonly kind: string;
  /** Bits of one element. */
  readonly itemBits: number;
  /** The unit of a date or a duration, `'ns'` or `'25s'`; null for other kinds. */
  readonly unit: string | null;
  /** The dtype with these bits and this meaning; null when there is none. */
  readonly dtype: DTypeInfo | null;
}

const grammar = /^([<>|=])([tbiufcmMOSUV])(0|[1-9][0-9]{0,8})(?:\[([0-9]{0,9}[A-Za-zμ]{1,7})\])?$/;

/** The meaning of the letters. */
const kinds: Readonly<Record<string, string>> = {
  t: 'bits',
  b: 'booleans',
  i: 'integers',
  u: 'unsigned integers',
  f: 'floating-point numbers',
  c: 'complex numbers',
  m: 'spans of time',
  M: 'dates',
  O: 'Python objects',
  S: 'byte strings',
  U: 'text',
  V: 'raw bytes or records',
};

/** Letters of the kinds that have dtypes; the size in bits completes the name. */
const bases: Readonly<Record<string, string>> = { t: 'uint', i: 'int', u: 'uint', f: 'float', c: 'complex' };

const byName: ReadonlySet<string> = new Set(dtypes);

function dtypeOf(kind: string, itemBits: number): DTypeInfo | null {
  if (kind === 'b') return itemBits === 8 ? dtypeFromName('bool') : null;
  const base = bases[kind];
  const name = `${base}${itemBits}`;
  return base !== undefined && byName.has(name) ? dtypeFromName(name) : null;
}

const parsed = new Map<string, TypeString>();

/** Reads a type string. Throws if the grammar does not allow it. A valid string without a dtype has `dtype` null. */
export function parseTypeString(text: string): TypeString {
  const known = parsed.get(text);
  if (known !== undefined) return known;
  if (typeof text !== 'string') throw new ArgumentTypeError('typestr', 'a type string such as "<f4"', text);
  const match = grammar.exec(text);
  const [, order, kind = '', digits, unit] = match ?? [];
  const isTime = kind === 'm' || kind === 'M';
  if (match === null || (unit !== undefined && !isTime)) {
    throw new ArgumentValueError(
      'typestr',
      'a byte order (< > | =), a kind (t b i u f c m M O S U V) and a size, such as "<f4" or "<M8[ns]",',
      text,
    );
  }
  const size = Number(digits);
  // Bits for a bit field, characters of four bytes for text, bytes for all others.
  const itemBits = kind === 't' ? size : kind === 'U' ? size * 32 : size * 8;
  const result: TypeString = Object.freeze({
    text,
    // CUDA runs on little-endian machines only.
    byteOrder: order === '=' ? '<' : (order as TypeString['byteOrder']),
    kind,
    itemBits,
    unit: unit ?? null,
    dtype: dtypeOf(kind, itemBits),
  });
  // Programs use few distinct strings, but a hostile library must not fill the map.
  if (result.dtype !== null && text.length <= 6) parsed.set(text, result);
  return result;
}

/** How to read elements: their dtype and, for raw bytes of larger elements, how many bytes make one. */
export interface Elements {
  readonly dtype: DTypeInfo;
  /** The length of the last axis when each element becomes a row of bytes; null otherwise. */
  readonly bytes: number | null;
}

/**
 * The elements of a type string. `wanted` reads them as another dtype of the same size, or as `'uint8'`, which makes
 * the bytes of each element a last axis.
 */
export function elementsOf(text: string, wanted?: DType): Elements {
  const type = parseTypeString(text);
  if (type.byteOrder === '>' && type.itemBits > 8) {
    throw new UnsupportedDTypeError(
      text,
      `Expected little-endian elements but ${describe(text)} is big-endian; swap the bytes in the library that made it`,
    );
  }
  if (type.kind === 'O' || type.itemBits === 0) {
    throw new UnsupportedDTypeError(
      text,
      `Expected elements with a size but ${describe(text)} is for ${kinds[type.kind]}${type.itemBits === 0 ? ' of none' : ', which no device has'}`,
    );
  }
  if (wanted === undefined) {
    if (type.dtype === null) {
      throw new UnsupportedDTypeError(
        text,
        `Expected elements that have a dtype but ${describe(text)} is for ${kinds[type.kind]} of ${type.itemBits / 8} bytes; ` +
          'pass { dtype } with one of that size, such as "bfloat16" for "<V2", or { dtype: "uint8" } for their bytes',
      );
    }
    return { dtype: type.dtype, bytes: null };
  }
  const dtype = dtypeFromName(wanted);
  if (dtype.itemBits === type.itemBits) return { dtype, bytes: null };
  if (dtype.name === 'uint8' && type.itemBits % 8 === 0) return { dtype, bytes: type.itemBits / 8 };
  throw new UnsupportedDTypeError(
    text,
    `Expected elements of ${dtype.itemBits} bits for dtype '${dtype.name}' but ${describe(text)} has ${type.itemBits}`,
  );
}

const letters: Readonly<Record<string, string>> = { bool: 'b', int: 'i', uint: 'u', float: 'f', complex: 'c' };

/**
 * The type string of a dtype. Dtypes without a NumPy letter (bfloat16, float8, handles, lanes) are raw bytes of their
 * size, `'<V2'` and `'|V1'`, as PyTorch and ml_dtypes write them. Packed unsigned integers of less than a byte are bit
 * fields.
 */
export function formatTypeString(dtype: DTypeInfo, padded = false): string {
  if (dtype.isSubByte && !padded) {
    if (dtype.lanes === 1 && letters[dtype.base.replace(/[0-9]+$/, '')] === 'u') return `|t${dtype.bits}`;
    throw new UnsupportedDTypeError(
      dtype.name,
      `Expected elements of whole bytes but packed ${dtype.name} has ${dtype.itemBits} bits; copy it to padded elements, or to 'uint8'`,
    );
  }
  const bytes = Math.ceil(dtype.itemBits / 8);
  // A padded element is a raw byte, not a number of eight bits.
  const letter = dtype.lanes === 1 && !dtype.isSubByte ? letters[dtype.base.replace(/[0-9]+$/, '')] : undefined;
  return `${bytes === 1 ? '|' : '<'}${letter ?? 'V'}${bytes}`;
}
