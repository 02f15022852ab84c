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

export {
  type Device,
  type DeviceKind,
  DeviceType,
  type DLDevice,
  formatDevice,
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
export type { SliceRange } from './layout.js';
export {
  DLPACK,
  DLPACK_DEVICE,
  DLPACK_VERSION,
  type DLPackProducer,
  type DLPackRequest,
  type GPUData,
  type ManagedTensor,
} from './managed.js';
export type { FromOptions, WrapOptions } from './memory.js';
export type { AllocatedData, AllocRequest, NDAllocator } from './nd-alloc.js';
export type { NestedSource } from './nested.js';
export { type FromDLPackOptions, fromDLPack } from './protocol.js';
export { type Expected, expectTensor, type TensorSpec } from './spec.js';
export type { GPUBufferLike } from './storage.js';
export { type EmptyOptions, Tensor, type WrappableArray } from './tensor.js';
export { type NestedArray, TensorView } from './view.js';
