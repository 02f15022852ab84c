/** `hostMdspan`, `deviceMdspan` and `managedMdspan`. */

import { checkOptions, type OptionNames } from '../base/options.js';
import type { DType } from '../dtype.js';
import { ArgumentTypeError, ArgumentValueError, isA, LayoutError, UnsupportedDeviceError } from '../errors.js';
import { spanOf } from '../layout.js';
import type { WrappableArray } from '../tensor.js';
import { descriptorOf, TensorView } from '../view.js';
import { type Accessor, defaultAccessor, type PointerAccessor } from './accessor.js';
import type { ElementType } from './element-type.js';
import { type BigShape, dims, Extents, type NumberShape } from './extents.js';
import { numbersOf } from './integers.js';
import { layoutRight, layoutStrideRelaxed, type RelaxedMapping, type RightMapping } from './layouts.js';
import { checkMapping, type LayoutMapping, type ShapeOf } from './mapping.js';
import {
  memoryOf,
  type NaturalElementType,
  Pointer,
  type PointerOptions,
  pointerTo,
  pointerToElements,
} from './pointer.js';
import { memoryOfKind, type SpanKind, type SpanOf, spanClasses } from './span.js';

/** Extents are a shorthand for their `layoutRight`. */
export type SpanLayout = Extents<BigShape> | LayoutMapping<BigShape>;
/** The mapping of a span's layout. */
export type MappingOf<L> = L extends Extents<infer S> ? RightMapping<S> : L extends LayoutMapping<BigShape> ? L : never;
/** The element type of a tensor of this dtype. */
export type ElementOf<D> = D extends ElementType ? D : ElementType;
/** A span over elements of a known type. */
export type SpanOver<K extends SpanKind, D extends ElementType, L extends SpanLayout> =
  MappingOf<L> extends infer M extends LayoutMapping<ShapeOf<L>>
    ? SpanOf<K, D, ShapeOf<L>, M, PointerAccessor<D>>
    : never;
/** A span with an accessor of the program. */
export type SpanWith<K extends SpanKind, L extends SpanLayout, H, V> =
  MappingOf<L> extends infer M extends LayoutMapping<ShapeOf<L>>
    ? SpanOf<K, H extends Pointer<infer D> ? D : null, ShapeOf<L>, M, Accessor<V, H>>
    : never;

/** What an address points to. */
export interface AddressSpanOptions<D extends ElementType> extends PointerOptions<D> {
  dtype: D;
  /** For device spans: the number of the CUDA device. By default the driver finds it. */
  deviceId?: number;
}

/** Functions that make spans of one kind. */
export interface SpanFactory<K extends SpanKind> {
  /** A span of a whole tensor, with its shape and strides. */
  <D extends DType>(
    tensor: TensorView<D>,
  ): SpanOf<K, ElementOf<D>, NumberShape, RelaxedMapping<NumberShape>, PointerAccessor<ElementOf<D>>>;
  /** A span of a contiguous tensor's elements in another layout. */
  <D extends DType, L extends SpanLayout>(
    tensor: TensorView<D>,
    layout: L,
    options?: PointerOptions<ElementOf<D>>,
  ): SpanOver<K, ElementOf<D>, L>;
  /** Unsafe: a span of the elements at an address, which is trusted. The caller keeps the memory alive. */
  <D extends ElementType, L extends SpanLayout>(
    address: bigint,
    layout: L,
    options: AddressSpanOptions<D>,
  ): SpanOver<K, D, L>;
  /** A span of the elements behind a handle that an accessor understands. */
  <H, V, L extends SpanLayout>(handle: H, layout: L, options: { accessor: Accessor<V, H> }): SpanWith<K, L, H, V>;
  /** A span of the elements at a pointer. */
  <D extends ElementType, L extends SpanLayout>(pointer: Pointer<D>, layout: L): SpanOver<K, D, L>;
}

/** Functions that make host spans, also of JavaScript memory. */
export interface HostSpanFactory extends SpanFactory<'host'> {
  /** A span of the bytes of a typed array or an ArrayBuffer, with another element type. */
  <D extends ElementType, L extends SpanLayout>(
    memory: WrappableArray | ArrayBufferLike,
    layout: L,
    options: PointerOptions<D> & { dtype: D },
  ): SpanOver<'host', D, L>;
  /** A span of the elements of a typed array. */
  <A extends WrappableArray, L extends SpanLayout>(
    array: A,
    layout: L,
    options?: { readonly?: boolean },
  ): SpanOver<'host', NaturalElementType<A>, L>;
}

interface AnyOptions extends Partial<AddressSpanOptions<ElementType>> {
  accessor?: Accessor<unknown, unknown>;
}

const optionNames: OptionNames<AnyOptions> = { dtype: true, readonly: 'boolean', deviceId: true, accessor: true };

function makeSpan(kind: SpanKind, source: unknown, layout: SpanLayout | undefined, options: AnyOptions): unknown {
  checkOptions(options, optionNames, "{ dtype: 'float32' }");
  const { accessor, ...pointing } = options;
  if (accessor !== undefined) return construct(kind, source, mappingOf(layout), accessor);
  if (isA(source, TensorView) && layout === undefined) {
    const [pointer, mapping] = elementsOf(source, pointing);
    return construct(kind, pointer, mapping, defaultAccessor());
  }
  const mapping = mappingOf(layout);
  const pointer = pointerFor(kind, source, mapping, pointing);
  if (mapping.requiredSpanSize > pointer.available) {
    throw new LayoutError(
      `Expected memory of ${mapping.requiredSpanSize} elements of ${pointer.element.name} for extents ` +
        `[${mapping.extents.lengths.join(', ')}] but there are ${pointer.available}`,
      numbersOf(mapping.extents.lengths),
    );
  }
  return construct(kind, pointer, mapping, defaultAccessor());
}

function construct(kind: SpanKind, handle: unknown, mapping: LayoutMapping<BigShape>, accessor: unknown): unknown {
  if (isA(handle, Pointer)) checkPlace(kind, handle);
  return new spanClasses[kind](handle as never, mapping as never, accessor as never);
}

function mappingOf(layout: SpanLayout | undefined): LayoutMapping<BigShape> {
  const mapping = isA(layout, Extents) ? layoutRight(layout) : (layout as LayoutMapping<BigShape>);
  checkMapping(mapping);
  return mapping;
}

function pointerFor(kind: SpanKind, source: unknown, mapping: LayoutMapping<BigShape>, options: AnyOptions): Pointer {
  if (isA(source, Pointer)) return source;
  if (kind !== 'device' && options.deviceId !== undefined) {
    throw new ArgumentValueError(
      'deviceId',
      `no number for a ${kind}Mdspan (DLPack gives ${kind} memory device 0)`,
      options.deviceId,
    );
  }
  if (typeof source === 'bigint') {
    return pointerTo(source, { ...options, size: mapping.requiredSpanSize } as never);
  }
  if (kind !== 'host' && !isA(source, TensorView)) {
    throw new ArgumentTypeError(
      'source',
      `an address or a tensor on '${memoryOfKind[kind].device}' for ${kind}Mdspan`,
      source,
    );
  }
  return pointerTo(source as TensorView, options as never);
}

/** Checks that the kind of a span matches its memory, if the device of the memory is known. */
function checkPlace(kind: SpanKind, pointer: Pointer): void {
  const { device } = memoryOf(pointer);
  const expected = memoryOfKind[kind];
  if (device === null || device.kind === expected.device) return;
  throw new UnsupportedDeviceError(
    device.name,
    `Expected memory on '${expected.device}' (device type ${expected.constant}) for ${kind}Mdspan but received memory on '${device.name}'`,
  );
}

/** The pointer and layout of a tensor. Negative strides become an offset from the lowest element. */
function elementsOf(tensor: TensorView, options: AnyOptions): [Pointer, LayoutMapping] {
  const { shape, strides } = descriptorOf(tensor);
  const below = -(spanOf(shape, strides)?.low ?? 0);
  const first = pointerToElements(tensor, options as PointerOptions<ElementType>);
  return [first.plus(-below), layoutStrideRelaxed(dims(shape), strides, below)];
}

/**
 * Makes a span of host memory: typed arrays, tensors on the CPU, pointers, addresses.
 *
 * @param source - What has the elements. An address is trusted.
 * @param layout - Extents, which are row-major, or a mapping; those of the tensor when absent.
 * @param options - The element type, whether elements are constant, or an accessor.
 * @returns A span that shares the memory and owns nothing.
 * @throws ArgumentTypeError for anything else, LayoutError for less memory than the layout needs, and
 *   UnsupportedDeviceError for memory that is not on the host.
 * @example
 * ```ts
 * import { extents, hostMdspan } from 'dlpack/mdspan';
 * const span = hostMdspan(new Int32Array([0, 1, 2, 3, 4, 5]), extents(2, 3));
 * console.log(span.get(1, 2)); // 5
 * ```
 */
export const hostMdspan = ((source: unknown, layout?: SpanLayout, options: AnyOptions = {}) =>
  makeSpan('host', source, layout, options)) as HostSpanFactory;

/**
 * Makes a span of memory on a CUDA device: tensors on `'cuda'`, pointers, addresses. JavaScript cannot read its
 * elements.
 *
 * @param source - What has the elements. An address is trusted.
 * @param layout - Extents, which are row-major, or a mapping; those of the tensor when absent.
 * @param options - The element type, whether elements are constant, the number of the device, or an accessor.
 * @returns A span that shares the memory and owns nothing.
 * @throws As `hostMdspan` does, for memory that is not on a CUDA device.
 */
export const deviceMdspan = ((source: unknown, layout?: SpanLayout, options: AnyOptions = {}) =>
  makeSpan('device', source, layout, options)) as SpanFactory<'device'>;

/**
 * Makes a span of CUDA managed memory: tensors on `'cuda_managed'`, pointers, addresses.
 *
 * @param source - What has the elements. An address is trusted.
 * @param layout - Extents, which are row-major, or a mapping; those of the tensor when absent.
 * @param options - The element type, whether elements are constant, or an accessor.
 * @returns A span that shares the memory and owns nothing.
 * @throws As `hostMdspan` does, for memory that is not managed by CUDA.
 */
export const managedMdspan = ((source: unknown, layout?: SpanLayout, options: AnyOptions = {}) =>
  makeSpan('managed', source, layout, options)) as SpanFactory<'managed'>;
