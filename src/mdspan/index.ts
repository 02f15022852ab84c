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

export { type Accessor, defaultAccessor, type HandleOf, type PointerAccessor, type ValueOf } from './accessor.js';
export { type PointerDriver, setPointerDriver } from './driver.js';
export {
  type ElementInfo,
  type ElementType,
  type ElementValueOf,
  elementTypes,
  type PairBase,
  type ScalarType,
  type VectorBase,
} from './element-type.js';
export {
  type BigShape,
  type CheckedLength,
  type DimsOf,
  type DynamicLength,
  dims,
  dynamic,
  Extents,
  extents,
  type IndexType,
  type IntegerOf,
  type LengthsOf,
  type LiteralExpected,
  type NumberShape,
  type PerAxis,
} from './extents.js';
export {
  type DynamicShape,
  type FromDLTensor,
  type FromDLTensorOptions,
  type ImportedShape,
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
  type MappingFor,
  type RelaxedMapping,
  type RightMapping,
  type StrideMapping,
  type StridesMapping,
} from './layouts.js';
export {
  type AddressSpanOptions,
  deviceMdspan,
  type ElementOf,
  type HostSpanFactory,
  hostMdspan,
  type MappingOf,
  managedMdspan,
  type SpanFactory,
  type SpanLayout,
  type SpanOver,
  type SpanWith,
} from './make-span.js';
export type { AxisPart, LayoutMapping, MappingPart, ShapeOf, StridedMapping } from './mapping.js';
export {
  type AddressOptions,
  type NaturalElementType,
  type Pointer,
  type PointerOptions,
  pointerTo,
} from './pointer.js';
export { fullExtent, type Slice, type SlicedShape, type SlicesFor, type StridedSlice, stridedSlice } from './slices.js';
export {
  type DefaultAccessor,
  DeviceMdspan,
  HostMdspan,
  ManagedMdspan,
  Mdspan,
  type ReachableMdspan,
  type SpanKind,
  type SpanOf,
} from './span.js';
export { type AnyMdspan, type PartMapping, type PartOf, submdspan } from './submdspan.js';
export {
  type ConstDLTensor,
  type DescribableSpan,
  DLPackTensor,
  type DLTensorFields,
  type OwnedDLTensor,
  type OwnedFields,
  toDLPackTensor,
  type WritableFields,
} from './to-dlpack.js';
