/** Element types: the C++ types that have a `DLDataType`, by their dtype name, and their layout in memory. */

import { type DLDataType, type DType, type DTypeInfo, parseDType, type Scalar } from '../dtype.js';
import { UnsupportedDTypeError } from '../errors.js';
import { type ElementCodec, elementCodec, lanesCodec } from '../values/element.js';

/** The types of which CUDA has vectors of two and four: `char2`, `float4`, `__nv_fp8x4_e4m3`... */
const vectorTypes = [
  'int8',
  'int16',
  'int32',
  'int64',
  'uint8',
  'uint16',
  'uint32',
  'uint64',
  'float32',
  'float64',
  'float8_e4m3fn',
  'float8_e5m2',
  'float8_e8m0fnu',
  'float6_e2m3fn',
  'float6_e3m2fn',
  'float4_e2m1fn',
] as const;
/** The types of which CUDA has vectors of two: `half2`, `__nv_bfloat162`. */
const pairTypes = ['float16', 'bfloat16'] as const;
const otherTypes = ['bool', 'int128', 'uint128', 'float128', 'complex32', 'complex64', 'complex128'] as const;

/** Element types of which CUDA has vectors of two and four. */
export type VectorBase = (typeof vectorTypes)[number];
/** Element types of which CUDA has pairs. */
export type PairBase = (typeof pairTypes)[number];
/** Element types of one value. */
export type ScalarType = VectorBase | PairBase | (typeof otherTypes)[number];

/** Every element type of an mdspan. */
export type ElementType = ScalarType | `${VectorBase}x${2 | 4}` | `${PairBase}x2`;

/** The JavaScript value of one element. */
export type ElementValueOf<D extends ElementType> = Scalar<D>;

/** The numbers of lanes that vectors of each type have. */
const vectorLanes = new Map<string, readonly number[]>([
  ...vectorTypes.map((name) => [name, [2, 4]] as const),
  ...pairTypes.map((name) => [name, [2]] as const),
  ...otherTypes.map((name) => [name, []] as const),
]);

/** Every element type, scalars first. */
export const elementTypes: readonly ElementType[] = Object.freeze([
  ...([...vectorLanes.keys()] as ScalarType[]),
  ...[...vectorLanes].flatMap(([base, lanes]) => lanes.map((n) => `${base}x${n}` as ElementType)),
]);

/** Properties of an element type. There is one frozen object for each type. */
export interface ElementInfo<D extends ElementType = ElementType> {
  /** The name of the element type. */
  readonly name: D;
  /** The dtype of DLPack that describes the elements. */
  readonly dtype: DTypeInfo;
  /** Bytes of one element in C++ memory, `sizeof(T)`. */
  readonly storageBytes: number;
  /** True when the element fills a byte that DLPack would pack tighter. A managed tensor then needs the padded flag. */
  readonly isPadded: boolean;
  /**
   * True when DLPack can describe the elements. CUDA's vectors of six-bit floats put each lane in its own byte, but
   * DLPack packs lanes.
   */
  readonly isDescribable: boolean;
  /** @internal */
  readonly codec: ElementCodec;
}

const cache = new Map<DTypeInfo, ElementInfo>();

/** The element type of a dtype. Throws if no C++ type maps to it. */
export function parseElementType<D extends ElementType>(dtype: D | DType | DLDataType): ElementInfo<D> {
  const info = parseDType(dtype);
  const known = cache.get(info);
  if (known !== undefined) return known as ElementInfo<D>;
  const allowed = vectorLanes.get(info.base);
  if (allowed === undefined) {
    throw new UnsupportedDTypeError(
      info.name,
      `Expected an element type of mdspan for dtype but received '${info.name}' (unsupported type); they are ${[...vectorLanes.keys()].join(', ')}`,
    );
  }
  if (info.lanes !== 1 && !allowed.includes(info.lanes)) {
    throw new UnsupportedDTypeError(
      info.name,
      `Expected ${['one', ...allowed.map((n) => (n === 2 ? 'two' : 'four'))].join(' or ')} lanes of ${info.base} for dtype ` +
        `but received '${info.name}' (unsupported vector type)`,
    );
  }
  const hasByteLanes = info.bits === 6 && info.lanes > 1;
  const element: ElementInfo = Object.freeze({
    name: info.name as ElementType,
    dtype: info,
    storageBytes: hasByteLanes ? info.lanes : Math.ceil(info.itemBits / 8),
    isPadded: info.isSubByte,
    isDescribable: !hasByteLanes,
    codec: hasByteLanes ? lanesCodec(info, 8) : elementCodec(info),
  });
  cache.set(info, element);
  return element as ElementInfo<D>;
}
