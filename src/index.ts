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
 * @module
 */

export { type NativeStatus, nativeStatus } from './base/native-status.js';
export type { StreamLike } from './base/stream.js';
export {
  type Device,
  type DeviceArgument,
  type DeviceKind,
  DeviceType,
  type DLDevice,
  formatDevice,
  type GPUDeviceLike,
  parseDevice,
} from './device.js';
export {
  type BaseDType,
  type Complex,
  type DLDataType,
  type DType,
  type DTypeInfo,
  type DTypeMap,
  dtypes,
  type Float16Data,
  formatDType,
  parseDType,
  type Scalar,
  sizeBytes,
  TypeCode,
  type TypedArray,
  type TypedArrayOf,
} from './dtype.js';
export {
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
  ReadOnlyError,
  SpecError,
  UnsupportedDeviceError,
  UnsupportedDTypeError,
  VersionError,
} from './errors.js';
export { type FromDLPackOptions, fromDLPack } from './from-dlpack.js';
export {
  DLPACK,
  DLPACK_DEVICE,
  DLPACK_VERSION,
  type DLPackProducer,
  type DLPackRequest,
  type GPUData,
  ManagedFlag,
  type ManagedTensor,
} from './protocol/managed.js';
export { type Releasable, scope, scopeAsync } from './scope.js';
export { type Expected, expectTensor, type TensorSpec } from './spec.js';
export type { FromOptions, WrapOptions } from './storage/arrays.js';
export type { AllocatedData, AllocRequest, NDAllocator } from './storage/nd-alloc.js';
export type { GPUBufferLike } from './storage/storage.js';
export { type EmptyOptions, Tensor, type ToAsyncOptions, type WrappableArray } from './tensor.js';
export type { NestedSource } from './values/nested.js';
export { type NestedArray, TensorView } from './view.js';
export type { SliceRange } from './view-layout.js';
