/**
 * Typed multidimensional spans: the vocabulary of C++23 `mdspan` and CUDA's host, device and managed spans, with
 * conversions to and from a DLPack view.
 *
 * @example
 * ```ts
 * import { extents, hostMdspan, toDLPackTensor } from 'dlpack/mdspan';
 * const data = new Int32Array([0, 1, 2, 3, 4, 5]);
 * const span = hostMdspan(data, extents(2, 3));
 * span.get(1, 2); // 5
 * using dl = toDLPackTensor(span);
 * dl.get().strides; // BigInt64Array [3n, 1n]
 * ```
 *
 * @module
 */

export { type Accessor, defaultAccessor, type PointerAccessor } from './accessor.js';
export { type PointerDriver, setPointerDriver } from './driver.js';
export { type ElementType, type ElementValueOf, elementTypes } from './element-type.js';
export {
  type BigShape,
  type DynamicLength,
  dims,
  dynamic,
  Extents,
  extents,
  type IndexType,
  type IntegerOf,
  type PerAxis,
  type Shape,
} from './extents.js';
export {
  type DynamicShape,
  type FromDLTensorOptions,
  toDeviceMdspan,
  toHostMdspan,
  toManagedMdspan,
} from './from-dlpack.js';
export type { Integer } from './integers.js';
export {
  type LayoutName,
  type LayoutPolicy,
  type LeftMapping,
  layoutLeft,
  layoutRight,
  layoutStride,
  layoutStrideRelaxed,
  type RelaxedMapping,
  type RightMapping,
  type StrideMapping,
} from './layouts.js';
export { deviceMdspan, type HostSpanFactory, hostMdspan, managedMdspan, type SpanFactory } from './make-span.js';
export type { AxisPart, LayoutMapping, MappingPart, StridedMapping } from './mapping.js';
export { type AddressOptions, type Pointer, type PointerOptions, pointerTo } from './pointer.js';
export { fullExtent, type Slice, type SlicedShape, type StridedSlice, stridedSlice } from './slices.js';
export { DeviceMdspan, HostMdspan, ManagedMdspan, Mdspan, type SpanKind } from './span.js';
export { submdspan } from './submdspan.js';
export {
  type ConstDLTensor,
  type DescribableSpan,
  DLPackTensor,
  type DLTensor,
  type OwnedDLTensor,
  toDLPackTensor,
} from './to-dlpack.js';
