/**
 * Kernels compiled for TVM-FFI, called with tensors of this package.
 *
 * @example
 * ```ts
 * import { Tensor } from 'dlpack';
 * import { loadModule } from 'dlpack/tvm-ffi';
 * const kernels = loadModule('./kernels.so');
 * const x = Tensor.from([1, 2, 3], { dtype: 'float32' });
 * const y = Tensor.empty([3], 'float32');
 * kernels.add_one(x, y);
 * ```
 *
 * @module
 */

export type { AsyncOptions } from '../base/signal.js';
export { fromEnvAlloc, setAllocator, type TensorAllocator } from './calls/allocator.js';
export { callAsync, type FFICallAsync } from './calls/async.js';
export { type StreamProvider, setStreamProvider } from './calls/call-stream.js';
export {
  type GetGlobalOptions,
  getGlobalFunc,
  globalFuncNames,
  live,
  type RegisterOptions,
  registerGlobalFunc,
  removeGlobalFunc,
  sameAs,
  toFunction,
} from './calls/functions.js';
export {
  currentStream,
  followTorchStream,
  type TorchStreams,
  withStream,
} from './calls/streams.js';
export {
  DataType,
  DeviceValue,
  FFIObject,
  Opaque,
  OpaquePointer,
  RValue,
  Shape,
  type ShortDType,
  TVM_FFI_OBJECT,
  TVM_FFI_VALUE,
  UNCHANGED,
} from './codec/values.js';
export { CompileError, type Diagnostic } from './compile/error.js';
export { type CommandLine, type CompileOptions, compile, compileLibrary } from './compile.js';
export { type LoadOptions, loadLibrary } from './load-library.js';
export {
  asModule,
  describeFunction,
  describeModule,
  type FunctionDescription,
  implementsFunction,
  importModule,
  type KernelModule,
  loadModule,
  type ModuleDescription,
  systemLibrary,
} from './module.js';
export {
  ArrayView,
  Dict,
  type Entries,
  List,
  type LiveContainer,
  MapView,
  type Sequence,
} from './native-values.js';
export {
  type AllocatedData,
  type AllocRequest,
  fromNDAlloc,
  fromNDAllocStrided,
  type NDAllocator,
} from './nd-alloc.js';
export { type ErrorClass, registerError, TVMFFIError } from './objects/errors.js';
export type { FFICallback } from './objects/host-objects.js';
export { type RegisterObjectOptions, registerObject } from './objects/host-types.js';
export type { FFIFunction } from './objects/native-functions.js';
export { isInstance, type Live, type LiveValue, type ObjectClass, objectClass } from './objects/registered-classes.js';
export {
  deepCopy,
  fromJSONGraph,
  type StructuralOptions,
  structuralEqual,
  structuralHash,
  toJSONGraph,
} from './structural.js';

import '../index.node.js';
