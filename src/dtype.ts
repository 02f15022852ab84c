/**
 * Element types: every type code of DLPack, by name and by `(code, bits, lanes)`.
 *
 * A name is a base such as `'float32'`, `'bfloat16'`, `'float8_e4m3fn'` or `'int4'`, followed by `'x4'` for four vector
 * lanes: `'float32x4'`.
 */

import { nearest } from './base/options.js';
import { arrayTagOf } from './base/primordials.js';
import { baseTable, TypeCode } from './dtype-table.js';
import { ArgumentTypeError, checkCount, describe, isUsable, LayoutError, UnsupportedDTypeError } from './errors.js';

export type { Float16Data } from './base/float16.js';
export { TypeCode } from './dtype-table.js';

/** Type codes that are defined later have higher numbers. */
const HIGHEST_CODE = Math.max(...Object.values(TypeCode));

/**
 * The typed array of each base dtype. Where JavaScript has no matching array, the array shows raw bits: one
 * `Uint16Array` element for each `bfloat16`, one `Uint8Array` element for each `float8`, packed bytes for types below
 * eight bits, interleaved parts for complex numbers, raw bytes for 128-bit scalars.
 */
export type DTypeMap = { [Base in keyof typeof baseTable]: (typeof baseTable)[Base][2]['prototype'] };

/** Names without lanes. */
export type BaseDType = keyof DTypeMap;
/** Every dtype name. */
export type DType = BaseDType | `${BaseDType}x${number}`;

/** The dtype of one lane: `BaseOf<'float32x4'>` is `'float32'`. */
export type BaseOf<D extends DType> = D extends BaseDType
  ? D
  : D extends `${infer B extends BaseDType}x${number}`
    ? B
    : never;

/** The typed array of a dtype: `TypedArrayOf<'int64'>` is `BigInt64Array`. */
export type TypedArrayOf<D extends DType> = DTypeMap[BaseOf<D>];

/** Any typed array a tensor can show. */
export type TypedArray = DTypeMap[BaseDType];

/** A complex number. */
export interface Complex {
  /** The real part. */
  readonly re: number;
  /** The imaginary part. */
  readonly im: number;
}

/** The JavaScript value of one lane. */
export type ScalarOfBase<B extends BaseDType> = B extends 'int64' | 'uint64' | 'int128' | 'uint128' | 'handle'
  ? bigint
  : B extends 'bool'
    ? boolean
    : B extends 'complex32' | 'complex64' | 'complex128' | 'bcomplex32'
      ? Complex
      : B extends 'float128'
        ? Uint8Array
        : number;

/** The JavaScript value of one element. A dtype with lanes has an array of values. */
export type Scalar<D extends DType> = D extends BaseDType ? ScalarOfBase<D> : readonly ScalarOfBase<BaseOf<D>>[];

/** The three numbers of `DLDataType`. */
export interface DLDataType {
  /** One of `TypeCode`. */
  readonly code: number;
  /** Bits of one lane. */
  readonly bits: number;
  /** Values in one element; 1 unless the element is a vector. */
  readonly lanes: number;
}

/** The class of a typed array. */
export type TypedArrayConstructor = {
  /** The size of an element. */
  readonly BYTES_PER_ELEMENT: number;
  new (buffer: ArrayBufferLike, byteOffset: number, length: number): TypedArray;
};

/** Properties of a dtype. There is one frozen object for each dtype. */
export interface DTypeInfo extends DLDataType {
  /** The name, such as `'float32x4'`. */
  readonly name: DType;
  /** The name without lanes. */
  readonly base: BaseDType;
  /** The four bytes of the struct as one number. */
  readonly packed: number;
  /** Bits of one element, all lanes together. */
  readonly itemBits: number;
  /** True when an element is not a whole number of bytes. Such elements are packed unless flagged as padded. */
  readonly isSubByte: boolean;
  /** The address of an element must be a multiple of this number of bytes. */
  readonly alignment: number;
  /** The class of the arrays that show such elements. */
  readonly array: TypedArrayConstructor;
}

/** All base names, in the order of the table. */
export const dtypes = Object.freeze(Object.keys(baseTable)) as readonly BaseDType[];

const byKey = new Map<number, DTypeInfo>();
const byName = new Map<string, DTypeInfo>();

/** `DLDataType` as a little-endian 32-bit integer. */
function pack(code: number, bits: number, lanes: number): number {
  return (code | (bits << 8) | (lanes << 16)) >>> 0;
}

function makeInfo(base: BaseDType, lanes: number): DTypeInfo {
  const [code, bits, array] = baseTable[base];
  const itemBits = bits * lanes;
  const info: DTypeInfo = Object.freeze({
    name: lanes === 1 ? base : `${base}x${lanes}`,
    base,
    code,
    bits,
    lanes,
    packed: pack(code, bits, lanes),
    itemBits,
    isSubByte: itemBits % 8 !== 0,
    alignment: array.BYTES_PER_ELEMENT,
    array: array as unknown as TypedArrayConstructor,
  } as const);
  byKey.set(info.packed, info);
  byName.set(info.name, info);
  return info;
}

/** The dtype of a `DLDataType`. Throws an error that names the numbers if this package does not know them. */
export function dtypeFromCode(code: number, bits: number, lanes: number): DTypeInfo {
  if (typeof code !== 'number' || typeof bits !== 'number' || typeof lanes !== 'number') {
    throw new ArgumentTypeError('dtype', 'the numbers code, bits and lanes', [code, bits, lanes]);
  }
  // The key packs 8, 8 and 16 bits, so a number that is too large for its field must not spill into the next field.
  const fits = (code & 0xff) === code && (bits & 0xff) === bits && (lanes & 0xffff) === lanes;
  const known = fits ? byKey.get(pack(code, bits, lanes)) : undefined;
  if (known !== undefined) return known;
  const numbers = `(code ${code}, bits ${bits}, lanes ${lanes})`;
  const base = fits || (lanes & 0xffff) !== lanes ? byKey.get(pack(code, bits, 1))?.base : undefined;
  if (base === undefined) {
    const codeName = Object.entries(TypeCode).find(([, value]) => value === code)?.[0];
    throw new UnsupportedDTypeError(
      numbers,
      codeName === undefined
        ? `Expected a type code from 0 to ${HIGHEST_CODE} but received ${code} ${numbers}; a newer version of this package may know it`
        : `Expected a width that type code ${code} ('${codeName}') has but received ${bits} bits ${numbers}`,
    );
  }
  if (!fits || lanes < 1) {
    throw new UnsupportedDTypeError(numbers, `Expected 1 to 65535 lanes but received ${lanes} ${numbers}`);
  }
  return makeInfo(base, lanes);
}

/** The dtype with this name: `'float32'`, `'float8_e4m3fn'`, `'float32x4'`. */
export function dtypeFromName(name: string): DTypeInfo {
  const known = byName.get(name);
  if (known !== undefined) return known;
  if (typeof name !== 'string') {
    throw new ArgumentTypeError('dtype', 'a dtype name such as "float32"', name, remedyForObject(name));
  }
  const match = /^([a-z0-9_]+?)(?:x([1-9][0-9]{0,4}))?$/.exec(name);
  const base = match?.[1];
  const lanes = match?.[2] === undefined ? 1 : Number(match[2]);
  if (base === undefined || !Object.hasOwn(baseTable, base) || lanes > 65535) {
    throw new UnsupportedDTypeError(name, `Expected a dtype name but received ${describe(name)}${remedyFor(name)}`);
  }
  return makeInfo(base as BaseDType, lanes);
}

/** The name that was probably meant, or examples, because a list of all names would hide the remedy. */
function remedyFor(name: string): string {
  const other = otherNames(name);
  if (other !== undefined) return `, which is '${other}' here`;
  const meant = nearest(name, dtypes);
  return meant !== null
    ? `; did you mean '${meant}'?`
    : "; names are such as 'float32', 'int64', 'bfloat16', 'bool', 'float32x4' (dtypes lists all of them)";
}

/** For `torch.float32` and `np.float32`, which are objects of Python here. */
function remedyForObject(dtype: unknown): string {
  if (typeof dtype !== 'function') return '';
  try {
    const text = String(dtype).replace(/^<class '(.*)'>$/, '$1');
    const other = otherNames(text);
    return other === undefined ? '' : `${text} is '${other}' here`;
  } catch {
    return ''; // an object that cannot be printed
  }
}

/** Names without a number of bits, as in PyTorch. */
const words: Readonly<Record<string, string>> = {
  half: 'float16',
  float: 'float32',
  double: 'float64',
  int: 'int32',
  long: 'int64',
};

/** Translates names of other libraries and languages: `torch.float32`, `Float32`, `f32`, `fp16`, `bf16`, `double`. */
function otherNames(name: string): string | undefined {
  const short = name.toLowerCase().replace(/^.*\./, '');
  const meant = words[short] ?? short.replace(/^(b?)fp?(\d)/, '$1float$2').replace(/^(?:i|(u)i?)(\d)/, '$1int$2');
  return Object.hasOwn(baseTable, meant) ? meant : undefined;
}

/**
 * Looks up a dtype.
 *
 * @param dtype - A name such as `'float32'`, or the three numbers of `DLDataType`.
 * @returns Its properties: code, bits, lanes, alignment, typed array.
 * @throws UnsupportedDTypeError if DLPack 1.3 has no such type; the message says which name was probably meant.
 * @throws ArgumentTypeError for anything but a name.
 * @example
 * ```ts
 * import { parseDType } from 'dlpack';
 * console.log(parseDType('int4').itemBits, parseDType('float32x4').lanes); // 4 4
 * ```
 */
export function parseDType(dtype: DType | DLDataType): DTypeInfo {
  if (isUsable(dtype) && 'code' in dtype) return dtypeFromCode(dtype.code, dtype.bits, dtype.lanes);
  return dtypeFromName(dtype as DType);
}

/**
 * Returns the name of a `DLDataType`.
 *
 * @param dtype - The three numbers.
 * @returns The name, such as `'float32'`.
 * @throws UnsupportedDTypeError if DLPack 1.3 has no such type, and ArgumentTypeError for anything but three numbers.
 * @example
 * ```ts
 * import { formatDType } from 'dlpack';
 * console.log(formatDType({ code: 2, bits: 32, lanes: 1 })); // float32
 * ```
 */
export function formatDType(dtype: DLDataType): DType {
  return parseDType(dtype).name;
}

/** True for dtypes whose elements have a real and an imaginary part. */
export function isComplex({ code }: DLDataType): boolean {
  return code === TypeCode.complex || code === TypeCode.bcomplex;
}

/** Bits from one element to the next. Packed elements lie side by side, padded elements start on a byte. */
export function strideBits(dtype: DTypeInfo, padded: boolean): number {
  return dtype.isSubByte && padded ? Math.ceil(dtype.itemBits / 8) * 8 : dtype.itemBits;
}

/**
 * Returns the bytes that consecutive elements occupy.
 *
 * @param dtype - From {@link parseDType}.
 * @param count - The number of elements.
 * @param padded - Whether each element narrower than a byte has a byte of its own; false when absent.
 * @returns The bytes from the start of the first element to the end of the last, rounded up to whole bytes.
 * @throws LayoutError for more than 2^53 - 1 bits.
 * @example
 * ```ts
 * import { parseDType, sizeBytes } from 'dlpack';
 * console.log(sizeBytes(parseDType('int4'), 5), sizeBytes(parseDType('int4'), 5, true)); // 3 5
 * ```
 */
export function sizeBytes(dtype: DTypeInfo, count: number, padded = false): number {
  checkCount(count, 'count');
  const bits = count * strideBits(dtype, padded);
  if (!(bits <= Number.MAX_SAFE_INTEGER)) {
    throw new LayoutError(
      `Expected at most 2^53 - 1 bits of memory but ${count} elements of ${dtype.name} exceed that`,
    );
  }
  return Math.ceil(bits / 8);
}

/** The dtype of each typed array class, by its `Symbol.toStringTag`. */
const naturalDTypes = {
  Int8Array: 'int8',
  Int16Array: 'int16',
  Int32Array: 'int32',
  BigInt64Array: 'int64',
  Uint8Array: 'uint8',
  Uint8ClampedArray: 'uint8',
  Uint16Array: 'uint16',
  Uint32Array: 'uint32',
  BigUint64Array: 'uint64',
  Float32Array: 'float32',
  Float64Array: 'float64',
  Float16Array: 'float16',
} as const;

/** The dtypes of typed arrays. The last is float16, whose class some runtimes do not have. */
export const arrayDTypes: readonly DType[] = [...new Set(Object.values(naturalDTypes))];

/** The dtype that a typed array naturally has. */
export type NaturalDType<A> = A extends {
  /** The name of its class. */
  readonly [Symbol.toStringTag]: infer Name;
}
  ? Name extends keyof typeof naturalDTypes
    ? (typeof naturalDTypes)[Name]
    : DType
  : DType;

/** The dtype a typed array naturally has, or undefined for anything else. Works across realms and subclasses. */
export function dtypeOfArray(value: unknown): DTypeInfo | undefined {
  const name = arrayTagOf(value);
  return name === undefined ? undefined : dtypeFromName(naturalDTypes[name as keyof typeof naturalDTypes]);
}

for (const base of dtypes) makeInfo(base, 1);

/** Throws unless the library has the dtype. */
export function checkDType(dtype: string, names: readonly string[], library: string): void {
  if (names.includes(dtype)) return;
  throw new UnsupportedDTypeError(
    dtype,
    `Expected a dtype of ${library} (${names.join(' ')}) but received '${dtype}'; convert it first, as astype() does`,
  );
}
