/** DLTensor to spans: `toHostMdspan`, `toDeviceMdspan` and `toManagedMdspan`, with the checks of the C++ library. */

import { checkOptions, type OptionNames } from '../base/options.js';
import type { DLDataType } from '../dtype.js';
import {
  ArgumentTypeError,
  ArgumentValueError,
  BufferError,
  describe,
  isUsable,
  LayoutError,
  UnsupportedDeviceError,
  UnsupportedDTypeError,
} from '../errors.js';
import { defaultAccessor, type PointerAccessor } from './accessor.js';
import { type ElementInfo, type ElementType, parseElementType } from './element-type.js';
import { type BigShape, Extents } from './extents.js';
import { checkInteger, checkIntegers, exact, type Integer, isInt64, numbersOf, productOf } from './integers.js';
import {
  type LayoutPolicy,
  layoutLeft,
  layoutRight,
  layoutStride,
  layoutStrideRelaxed,
  type MappingFor,
  reachOf,
} from './layouts.js';
import { checkMapping, type StridedMapping } from './mapping.js';
import { memoryOf, type Pointer, pointerTo } from './pointer.js';
import { memoryOfKind, type SpanKind, type SpanOf, spanClasses } from './span.js';
import { type DLTensorFields, origins } from './to-dlpack.js';

/** A shape of `R` dynamic lengths. */
export type DynamicShape<
  R extends number,
  S extends readonly I[] = readonly [],
  I extends Integer = number,
> = number extends R ? readonly I[] : S['length'] extends R ? S : DynamicShape<R, readonly [...S, I], I>;

/** What a DLTensor must be, and what kind of span it becomes. */
export interface FromDLTensorOptions<
  D extends ElementType,
  R extends number,
  L extends LayoutPolicy,
  B extends boolean = false,
> {
  /** The expected dtype. Throws for any other. */
  dtype: D;
  /** The expected number of axes. Throws for any other. The default is the number of axes of the DLTensor. */
  rank?: R;
  /** The layout. The default is `layoutStrideRelaxed`. */
  layout?: L;
  /** Makes the elements constant, like a span of `const T`: they cannot be written. The default is false. */
  readonly?: boolean;
  /** Accepts integers up to 2^63 - 1. The span has bigints where a number is not exact. By default they throw. */
  bigint?: B;
}

/** The shape of an imported span: dynamic lengths, as numbers or with bigints. */
export type ImportedShape<R extends number, B extends boolean> = DynamicShape<
  R,
  readonly [],
  B extends true ? Integer : number
>;

/** A function that makes spans of one kind from a DLTensor. */
export type FromDLTensor<K extends SpanKind> = <
  D extends ElementType,
  const R extends number,
  L extends LayoutPolicy = typeof layoutStrideRelaxed,
  B extends boolean = false,
>(
  tensor: DLTensorFields,
  options: FromDLTensorOptions<D, R, L, B>,
) => SpanOf<K, D, ImportedShape<R, B>, MappingFor<L, ImportedShape<R, B>>, PointerAccessor<D>>;

/**
 * Makes a span of a DLTensor on the CPU, with the checks of the C++ library.
 *
 * @param tensor - The fields of a DLTensor, such as `toDLPackTensor(span).get()`.
 * @param options - The element type and the number of axes that you expect (any number when absent), the layout
 *   (`layoutStrideRelaxed` when absent), whether elements are constant and integers may be bigints (both false when
 *   absent).
 * @returns A span that shares the memory and owns nothing.
 * @throws ArgumentTypeError or ArgumentValueError for a field or an option that is missing or impossible, or another
 *   number of axes.
 * @throws UnsupportedDTypeError for another dtype, and UnsupportedDeviceError for another device.
 * @throws LayoutError for strides that the layout does not have, and BufferError for misaligned memory.
 * @example
 * ```ts
 * import { extents, hostMdspan, toDLPackTensor, toHostMdspan } from 'dlpack/mdspan';
 * using dl = toDLPackTensor(hostMdspan(new Int32Array([1, 2, 3, 4]), extents(2, 2)));
 * const span = toHostMdspan(dl.get(), { dtype: 'int32', rank: 2 });
 * console.log(span.get(1, 0)); // 3
 * ```
 */
export const toHostMdspan = ((tensor, options) => toMdspan('host', tensor, options)) as FromDLTensor<'host'>;

/**
 * Makes a span of a DLTensor on a CUDA device, with the checks of the C++ library.
 *
 * @param tensor - The fields of a DLTensor, such as `toDLPackTensor(span).get()`.
 * @param options - The element type and the number of axes that you expect (any number when absent), the layout
 *   (`layoutStrideRelaxed` when absent), whether elements are constant and integers may be bigints (both false when
 *   absent).
 * @returns A span that shares the memory and owns nothing.
 * @throws As `toHostMdspan` does.
 */
export const toDeviceMdspan = ((tensor, options) => toMdspan('device', tensor, options)) as FromDLTensor<'device'>;

/**
 * Makes a span of a DLTensor in CUDA managed memory, with the checks of the C++ library.
 *
 * @param tensor - The fields of a DLTensor, such as `toDLPackTensor(span).get()`.
 * @param options - The element type and the number of axes that you expect (any number when absent), the layout
 *   (`layoutStrideRelaxed` when absent), whether elements are constant and integers may be bigints (both false when
 *   absent).
 * @returns A span that shares the memory and owns nothing.
 * @throws As `toHostMdspan` does.
 */
export const toManagedMdspan = ((tensor, options) => toMdspan('managed', tensor, options)) as FromDLTensor<'managed'>;

type Options = FromDLTensorOptions<ElementType, number, LayoutPolicy, boolean>;
const optionNames: OptionNames<Options> = {
  dtype: true,
  rank: true,
  layout: true,
  readonly: 'boolean',
  bigint: 'boolean',
};

/** Reads each field once, so a getter that later returns something else changes nothing. */
function toMdspan(kind: SpanKind, tensor: DLTensorFields, options: Options): unknown {
  if (!isUsable(tensor)) throw new ArgumentTypeError('tensor', 'a DLTensor', tensor);
  checkOptions(options, optionNames, '{ dtype, rank, layout }');
  const { data, device, ndim, dtype, shape: givenShape, strides: givenStrides, byteOffset: givenOffset } = tensor;
  const { rank = ndim, layout = layoutStrideRelaxed } = options;
  const element = parseElementType(options.dtype);
  if (typeof device === 'string') {
    throw new ArgumentTypeError('tensor', `a DLTensor (of a tensor ${kind}Mdspan(tensor) makes a span)`, tensor);
  }
  checkDevice(kind, device?.type);
  if (ndim !== rank) {
    throw new ArgumentValueError('ndim', `${rank} (DLTensor rank does not match expected rank)`, ndim);
  }
  checkDType(element, dtype);
  const usesBigInt = options.bigint === true;
  const shape = rank === 0 ? [] : checkedShape(givenShape, rank, usesBigInt);
  const byteOffset = checkInteger(givenOffset, 'byteOffset', usesBigInt);
  if (byteOffset < 0) throw new ArgumentValueError('byteOffset', 'an integer of zero or more', byteOffset);
  const isEmpty = shape.includes(0);
  checkData(element, data, byteOffset, layout === layoutStrideRelaxed, isEmpty);
  const strides = rank === 0 ? [] : checkedStrides(givenStrides, rank, usesBigInt);
  const extents = new Extents<BigShape>(shape, new Array<boolean>(rank).fill(false), 'int64', usesBigInt);
  let start = byteOffset;
  let offset: Integer = 0;
  if (layout === layoutStrideRelaxed) {
    // As in C++ the pointer stays at data, and byteOffset becomes the mapping's offset. With negative strides, data may
    // be above the lowest element (in NumPy data is the first element), and then the pointer moves down to the lowest
    // element.
    ({ offset, start } = relaxedPlace(byteOffset, reachOf(extents, strides)?.low ?? 0, element.storageBytes));
  }
  const mapping = makeMapping(layout, extents, strides, offset);
  checkMapping(mapping);
  const deviceId = kind === 'device' ? { deviceId: device.id } : {};
  const pointer = isNull(data)
    ? pointerTo(0n, { dtype: element.name, size: 0, ...deviceId })
    : pointTo(element, origins.get(tensor)?.() ?? null, data, start, mapping, deviceId);
  const handle = options.readonly === true ? pointer.asReadOnly() : pointer;
  return new spanClasses[kind](handle as never, mapping as never, defaultAccessor());
}

/** The offset of a relaxed mapping in elements, and the bytes from `data` to the pointer. */
function relaxedPlace(byteOffset: Integer, low: Integer, size: number): { offset: Integer; start: Integer } {
  const below = -BigInt(low);
  let offset = BigInt(byteOffset) / BigInt(size);
  if (offset < below) offset = below;
  return { offset: exact(offset), start: exact(BigInt(byteOffset) - offset * BigInt(size)) };
}

function checkDevice(kind: SpanKind, type: unknown): void {
  const expected = memoryOfKind[kind];
  if (type !== expected.type) {
    throw new UnsupportedDeviceError(
      String(type),
      `Expected device type ${expected.type} for the DLTensor but received ${String(type)} (DLTensor device type must be ${expected.constant} for ${kind}Mdspan)`,
    );
  }
}

function checkDType({ name, dtype: expected }: ElementInfo, dtype: DLDataType): void {
  if (dtype?.code !== expected.code || dtype.bits !== expected.bits || dtype.lanes !== expected.lanes) {
    const received = `(code ${dtype?.code}, bits ${dtype?.bits}, lanes ${dtype?.lanes})`;
    throw new UnsupportedDTypeError(
      received,
      `Expected '${name}' (code ${expected.code}, bits ${expected.bits}, lanes ${expected.lanes}) for the DLTensor but ` +
        `received ${received} (DLTensor data type does not match expected type)`,
    );
  }
}

function checkedShape(shape: DLTensorFields['shape'], rank: number, usesBigInt: boolean): readonly Integer[] {
  if (shape === null || shape === undefined) {
    throw new ArgumentTypeError('shape', 'an array (DLTensor shape must be non-null)', shape);
  }
  const lengths = checkIntegers(shape, 'shape', rank, usesBigInt);
  if (lengths.some((length) => length < 0)) {
    throw new ArgumentValueError('shape', 'lengths of zero or more (DLTensor shapes must be positive)', lengths);
  }
  const product = productOf(lengths);
  if (!(usesBigInt ? isInt64(product) : Number.isSafeInteger(product))) {
    throw new LayoutError(
      `Expected a number of elements of at most 2^${usesBigInt ? 63 : 53} - 1 but shape is [${lengths.join(', ')}] (shape overflow)`,
      numbersOf(lengths),
    );
  }
  return lengths;
}

function checkedStrides(strides: DLTensorFields['strides'], rank: number, usesBigInt: boolean): readonly Integer[] {
  if (strides === null || strides === undefined) {
    throw new ArgumentTypeError(
      'strides',
      'an array (strides=nullptr is not supported for DLPack v1.2 and later)',
      strides,
    );
  }
  return checkIntegers(strides, 'strides', rank, usesBigInt);
}

function isNull(data: DLTensorFields['data'] | undefined): data is null | undefined | 0n {
  return data === null || data === undefined || data === 0n;
}

/** Checks `data`. Without elements NULL is accepted, which `toDLPackTensor` also writes there. */
function checkData(
  element: ElementInfo,
  data: DLTensorFields['data'],
  byteOffset: Integer,
  isRelaxed: boolean,
  isEmpty: boolean,
): void {
  const size = element.storageBytes;
  if (isRelaxed && BigInt(byteOffset) % BigInt(size) !== 0n) {
    throw new ArgumentValueError(
      'byteOffset',
      `a multiple of ${size} (DLTensor byte_offset must be a multiple of element size)`,
      byteOffset,
    );
  }
  if (isNull(data)) {
    if (isEmpty) return;
    throw new ArgumentTypeError('data', 'an address (DLTensor data must be non-null)', data);
  }
  if (typeof data !== 'bigint' && !(data instanceof Uint8Array)) {
    throw new ArgumentTypeError('data', 'an address or a Uint8Array', data);
  }
  const first = typeof data === 'bigint' ? data : BigInt(data.byteOffset);
  const at = first + BigInt(isRelaxed ? 0 : byteOffset);
  if (at % BigInt(size) !== 0n) {
    throw new BufferError(
      `Expected ${element.name} data at a multiple of ${size} bytes but received 0x${at.toString(16)} (DLTensor data must be aligned to the data type)`,
    );
  }
}

function makeMapping(
  layout: LayoutPolicy,
  extents: Extents<BigShape>,
  strides: readonly Integer[],
  offset: Integer,
): StridedMapping<BigShape> {
  switch (layout) {
    case layoutStrideRelaxed:
      return layoutStrideRelaxed(extents, strides, offset);
    case layoutStride:
      return layoutStride(extents, strides);
    case layoutRight:
      return checkPacked(layoutRight(extents), strides);
    case layoutLeft:
      return checkPacked(layoutLeft(extents), strides);
    default:
      throw new ArgumentTypeError(
        'layout',
        'layoutRight, layoutLeft, layoutStride or layoutStrideRelaxed (unsupported layout policy)',
        layout,
      );
  }
}

/** Compares strides exactly, as in C++: an axis of length one must also have its packed stride. */
function checkPacked<M extends StridedMapping<BigShape> & { readonly layout: string }>(
  mapping: M,
  strides: readonly Integer[],
): M {
  const expected = strides.map((_, axis) => mapping.stride(axis));
  if (expected.some((stride, axis) => stride !== strides[axis])) {
    throw new LayoutError(
      `Expected strides [${expected.join(', ')}] for ${mapping.layout} but received ${describe([...strides])} ` +
        `(DLTensor strides are not compatible with ${mapping.layout})`,
      numbersOf(mapping.extents.lengths),
      numbersOf(strides),
    );
  }
  return mapping;
}

/** The pointer `start` bytes from `data`. */
function pointTo(
  element: ElementInfo,
  origin: Pointer | null,
  data: DLTensorFields['data'],
  start: Integer,
  mapping: StridedMapping<BigShape>,
  device: { deviceId?: number },
): Pointer {
  const size = mapping.requiredSpanSize as number;
  if (origin !== null && typeof start === 'number' && memoryOf(origin).device !== null && size > 0) {
    return origin.plus(start / element.storageBytes);
  }
  if (typeof data === 'bigint') {
    return pointerTo(data + BigInt(start), { dtype: element.name, size, ...device });
  }
  const bytes = data as Uint8Array;
  const from = start > bytes.length ? bytes.length : Number(start);
  const pointer = from < 0 ? null : pointerTo(bytes.subarray(from), { dtype: element.name });
  if (pointer === null || size > pointer.available) {
    throw new LayoutError(
      `Expected data of ${size} elements of ${element.name} from byte ${start} on but there are ${bytes.length} bytes`,
      numbersOf(mapping.extents.lengths),
    );
  }
  return pointer;
}
