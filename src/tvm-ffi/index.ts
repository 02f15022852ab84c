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

export { setAllocator, type TensorAllocator } from './allocator.js';
export { callAsync } from './async.js';
export type { FFIFunction } from './calls.js';
export { CompileError, type Diagnostic } from './compile/error.js';
export { type CommandLine, type CompileOptions, compile, compileLibrary } from './compile.js';
export { type ErrorClass, registerError, TVMFFIError } from './errors.js';
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
} from './functions.js';
export type { JavaScriptFunction } from './host-objects.js';
export { type RegisterObjectOptions, registerObject } from './host-types.js';
export { type LoadOptions, loadLibrary } from './library.js';
export { ArrayView, Dict, List, MapView } from './live-containers.js';
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
export { isInstance, type Live, type LiveValue, type ObjectClass, objectClass } from './object-classes.js';
export {
  currentStream,
  followTorchStream,
  type StreamProvider,
  setStreamProvider,
  type TorchStreams,
  withStream,
} from './streams.js';
export {
  deepCopy,
  fromJSONGraph,
  type StructuralOptions,
  structuralEqual,
  structuralHash,
  toJSONGraph,
} from './structural.js';
export {
  DataType,
  DeviceValue,
  FFIObject,
  Opaque,
  OpaquePointer,
  RValue,
  Shape,
  TVM_FFI_OBJECT,
  TVM_FFI_VALUE,
} from './values.js';

import '../index.node.js';
import './dispatch.js';
import './fields.js';
