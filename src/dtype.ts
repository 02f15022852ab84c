/**
 * Element types: every type code of DLPack 1.3, by name and by `(code, bits, lanes)`.
 *
 * A name is a base such as `'float32'`, `'bfloat16'`, `'float8_e4m3fn'` or `'int4'`, followed by `'x4'` for four vector
 * lanes: `'float32x4'`.
 */

import { nearest } from './base/options.js';
import { ArgumentTypeError, checkCount, describe, isUsable, LayoutError, UnsupportedDTypeError } from './errors.js';

/** `DLDataTypeCode` of dlpack.h 1.3. */
export const TypeCode = {
  int: 0, // kDLInt
  uint: 1, // kDLUInt
  float: 2, // kDLFloat
  handle: 3, // kDLOpaqueHandle
  bfloat: 4, // kDLBfloat
  complex: 5, // kDLComplex
  bool: 6, // kDLBool
  float8_e3m4: 7,
  float8_e4m3: 8,
  float8_e4m3b11fnuz: 9,
  float8_e4m3fn: 10,
  float8_e4m3fnuz: 11,
  float8_e5m2: 12,
  float8_e5m2fnuz: 13,
  float8_e8m0fnu: 14,
  float6_e2m3fn: 15,
  float6_e3m2fn: 16,
  float4_e2m1fn: 17,
} as const;

/** `Float16Array` where the runtime has it (Node 24, Bun, Deno, browsers), raw bits in a `Uint16Array` elsewhere. */
export type Float16Data =
  | Uint16Array
  | (typeof globalThis extends { Float16Array: { prototype: infer F } } ? F : never);

const float16Array = ((globalThis as { Float16Array?: unknown }).Float16Array ?? Uint16Array) as {
  readonly BYTES_PER_ELEMENT: 2;
  readonly prototype: Float16Data;
};

/** Every base dtype: its type code, its bits, and the class of its typed arrays. */
const baseTable = {
  bool: [TypeCode.bool, 8, Uint8Array],
  int1: [TypeCode.int, 1, Uint8Array],
  int2: [TypeCode.int, 2, Uint8Array],
  int4: [TypeCode.int, 4, Uint8Array],
  int8: [TypeCode.int, 8, Int8Array],
  int16: [TypeCode.int, 16, Int16Array],
  int32: [TypeCode.int, 32, Int32Array],
  int64: [TypeCode.int, 64, BigInt64Array],
  int128: [TypeCode.int, 128, Uint8Array],
  uint1: [TypeCode.uint, 1, Uint8Array],
  uint2: [TypeCode.uint, 2, Uint8Array],
  uint4: [TypeCode.uint, 4, Uint8Array],
  uint8: [TypeCode.uint, 8, Uint8Array],
  uint16: [TypeCode.uint, 16, Uint16Array],
  uint32: [TypeCode.uint, 32, Uint32Array],
  uint64: [TypeCode.uint, 64, BigUint64Array],
  uint128: [TypeCode.uint, 128, Uint8Array],
  float16: [TypeCode.float, 16, float16Array],
  float32: [TypeCode.float, 32, Float32Array],
  float64: [TypeCode.float, 64, Float64Array],
  float128: [TypeCode.float, 128, Uint8Array],
  bfloat16: [TypeCode.bfloat, 16, Uint16Array],
  complex32: [TypeCode.complex, 32, Uint16Array],
  complex64: [TypeCode.complex, 64, Float32Array],
  complex128: [TypeCode.complex, 128, Float64Array],
  float8_e3m4: [TypeCode.float8_e3m4, 8, Uint8Array],
  float8_e4m3: [TypeCode.float8_e4m3, 8, Uint8Array],
  float8_e4m3b11fnuz: [TypeCode.float8_e4m3b11fnuz, 8, Uint8Array],
  float8_e4m3fn: [TypeCode.float8_e4m3fn, 8, Uint8Array],
  float8_e4m3fnuz: [TypeCode.float8_e4m3fnuz, 8, Uint8Array],
  float8_e5m2: [TypeCode.float8_e5m2, 8, Uint8Array],
  float8_e5m2fnuz: [TypeCode.float8_e5m2fnuz, 8, Uint8Array],
  float8_e8m0fnu: [TypeCode.float8_e8m0fnu, 8, Uint8Array],
  float6_e2m3fn: [TypeCode.float6_e2m3fn, 6, Uint8Array],
  float6_e3m2fn: [TypeCode.float6_e3m2fn, 6, Uint8Array],
  float4_e2m1fn: [TypeCode.float4_e2m1fn, 4, Uint8Array],
  handle: [TypeCode.handle, 64, BigUint64Array],
} as const;

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

type BaseOf<D extends DType> = D extends BaseDType ? D : D extends `${infer B extends BaseDType}x${number}` ? B : never;

/** The typed array of a dtype: `TypedArrayOf<'int64'>` is `BigInt64Array`. */
export type TypedArrayOf<D extends DType> = DTypeMap[BaseOf<D>];

/** Any typed array a tensor can show. */
export type TypedArray = DTypeMap[BaseDType];

/** A complex number. */
export interface Complex {
  readonly re: number;
  readonly im: number;
}

type WideInteger = 'int64' | 'uint64' | 'int128' | 'uint128' | 'handle';
type ComplexName = 'complex32' | 'complex64' | 'complex128';
type ScalarOfBase<B extends BaseDType> = B extends WideInteger
  ? bigint
  : B extends 'bool'
    ? boolean
    : B extends ComplexName
      ? Complex
      : B extends 'float128'
        ? Uint8Array
        : number;

/** The JavaScript value of one element. A dtype with lanes has an array of values. */
export type Scalar<D extends DType> = D extends BaseDType ? ScalarOfBase<D> : readonly ScalarOfBase<BaseOf<D>>[];

/** The three numbers of `DLDataType`. */
export interface DLDataType {
  readonly code: number;
  readonly bits: number;
  readonly lanes: number;
}

type TypedArrayConstructor = {
  readonly BYTES_PER_ELEMENT: number;
  new (buffer: ArrayBufferLike, byteOffset: number, length: number): TypedArray;
};

/** Properties of a dtype. There is one frozen object for each dtype. */
export interface DTypeInfo extends DLDataType {
  readonly name: DType;
  readonly base: BaseDType;
  /** The four bytes of the struct as one number. */
  readonly packed: number;
  /** Bits of one element, all lanes together. */
  readonly itemBits: number;
  /** True when an element is not a whole number of bytes. Such elements are packed unless flagged as padded. */
  readonly isSubByte: boolean;
  /** The address of an element must be a multiple of this number of bytes. */
  readonly alignment: number;
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

/** The dtype of a `DLDataType`. Throws an error that names the numbers if DLPack 1.3 does not define them. */
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
        ? `Expected a type code of DLPack 1.3 (0 to 17) but received ${code} ${numbers}`
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
  if (typeof name !== 'string') throw new ArgumentTypeError('dtype', 'a dtype name such as "float32"', name);
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

/** A dtype given as a name or as `DLDataType` numbers. */
export function parseDType(dtype: DType | DLDataType): DTypeInfo {
  if (isUsable(dtype) && 'code' in dtype) return dtypeFromCode(dtype.code, dtype.bits, dtype.lanes);
  return dtypeFromName(dtype as DType);
}

/** The name of a `DLDataType`. */
export function formatDType(dtype: DLDataType): DType {
  return parseDType(dtype).name;
}

/** Bits from one element to the next. Packed elements lie side by side, padded elements start on a byte. */
export function strideBits(dtype: DTypeInfo, padded: boolean): number {
  return dtype.isSubByte && padded ? Math.ceil(dtype.itemBits / 8) * 8 : dtype.itemBits;
}

/** Bytes that `count` consecutive elements occupy. */
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
export type NaturalDType<A> = A extends { readonly [Symbol.toStringTag]: infer Name }
  ? Name extends keyof typeof naturalDTypes
    ? (typeof naturalDTypes)[Name]
    : DType
  : DType;

const tagOf = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag)?.get as (
  this: unknown,
) => string | undefined;

/** The usual typed arrays by their prototype, because the tag of an array takes JavaScriptCore 60 ns. */
const byPrototype = new Map<unknown, DTypeInfo>();
const { isView } = ArrayBuffer;

/** The dtype a typed array naturally has, or undefined for anything else. Works across realms and subclasses. */
export function dtypeOfArray(value: unknown): DTypeInfo | undefined {
  const known = isView(value) ? byPrototype.get(Object.getPrototypeOf(value)) : undefined;
  if (known !== undefined) return known;
  const name = tagOf.call(value);
  return name === undefined ? undefined : dtypeFromName(naturalDTypes[name as keyof typeof naturalDTypes]);
}

for (const base of dtypes) makeInfo(base, 1);
for (const name of arrayDTypes) {
  const info = dtypeFromName(name);
  const { prototype } = info.array as unknown as { prototype: object };
  // Without Float16Array, float16 shows its bits in a Uint16Array, whose own dtype comes first.
  if (!byPrototype.has(prototype)) byPrototype.set(prototype, info);
}

/** Throws unless the library has the dtype. */
export function checkDType(dtype: string, names: readonly string[], library: string): void {
  if (names.includes(dtype)) return;
  throw new UnsupportedDTypeError(
    dtype,
    `Expected a dtype of ${library} (${names.join(' ')}) but received '${dtype}'; convert it first, as astype() does`,
  );
}
