/**
 * Zero-copy tensors: the pure core, for any JavaScript runtime.
 *
 * @example
 * ```ts
 * import { Tensor, fromDLPack } from 'dlpack';
 * const x = Tensor.from([[1, 2, 3], [4, 5, 6]], { dtype: 'float32' });
 * using y = fromDLPack(x.transpose());
 * y.set(2, 0, 9);
 * x.get(0, 2); // 9
 * ```
 *
 * @module dlpack
 */

export { type NativeStatus, nativeStatus } from './base/native-status.js';
export type { StreamArgument, StreamLike } from './base/stream.js';
export {
  type Device,
  type DeviceArgument,
  type DeviceInfo,
  type DeviceKind,
  DeviceType,
  type DLDevice,
  formatDevice,
  type GPUDeviceLike,
  parseDevice,
} from './device.js';
export {
  type BaseDType,
  type BaseOf,
  type Complex,
  type DLDataType,
  type DType,
  type DTypeInfo,
  type DTypeMap,
  dtypes,
  type Float16Data,
  formatDType,
  type NaturalDType,
  parseDType,
  type Scalar,
  type ScalarOfBase,
  sizeBytes,
  TypeCode,
  type TypedArray,
  type TypedArrayConstructor,
  type TypedArrayOf,
} from './dtype.js';
export {
  ArgumentError,
  ArgumentTypeError,
  ArgumentValueError,
  BufferError,
  ConsumedError,
  DisposedError,
  DLPackError,
  type DLPackErrors,
  type DLPackErrorTag,
  ForeignError,
  IndexError,
  isDLPackError,
  LayoutError,
  LoadError,
  MisalignedError,
  OutOfMemoryError,
  ReadOnlyError,
  SpecError,
  UnsupportedDeviceError,
  UnsupportedDTypeError,
  VersionError,
} from './errors.js';
export { type FromDLPackOptions, fromDLPack, type UncheckedOptions } from './from-dlpack.js';
export type { JoinIntoOptions, JoinOptions } from './join.js';
export type { ArangeIntoOptions, FullIntoOptions } from './out.js';
export type { AdaptedSource, AdaptedSources } from './protocol/adapters.js';
export {
  type AttachedSource,
  type AttachedSources,
  DLPACK,
  DLPACK_DEVICE,
  DLPACK_VERSION,
  type DLPackProducer,
  type DLPackRequest,
  type DLPackSource,
  type ForeignProducer,
  type GPUData,
  ManagedFlag,
  type ManagedTensor,
  type NativeExternal,
  type NoProducer,
  type OpaqueProducer,
} from './protocol/managed.js';
export { type Releasable, type ReleasableAsync, scope, scopeAsync, type Track } from './scope.js';
export {
  type Expected,
  expectTensor,
  type SpecDType,
  type SpecLengths,
  type SpecShape,
  type TensorSpec,
} from './spec.js';
export type { EmptyOptions } from './storage/allocate.js';
export type { FromOptions, WrapOptions } from './storage/arrays.js';
export type { GPUBufferLike } from './storage/storage.js';
export type { LinearMemory } from './storage/wasm-storage.js';
export { Tensor, type ToAsyncOptions, type WrappableArray } from './tensor.js';
export type { Tolerance } from './values/compare.js';
export type { DTypeOfValues, LeafOf, NestedDType, NestedSource } from './values/nested.js';
export type { ArangeOptions } from './values/range.js';
export type { ScaleOptions } from './values/scaling.js';
export { type NestedArray, TensorView } from './view.js';
export type { SliceRange } from './view-layout.js';
