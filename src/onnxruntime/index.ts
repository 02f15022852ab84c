/**
 * ONNX Runtime through its C API: models run on threads of their own and share memory with tensors of this package. Needs the
 * library of ONNX Runtime, which the npm package `onnxruntime-node` contains.
 *
 * @example
 * ```ts no-run: needs a model
 * import { Tensor } from 'dlpack';
 * import { loadSession } from 'dlpack/onnxruntime';
 * const session = await loadSession('model.onnx');
 * const { y } = await session.run({ x: Tensor.from([1, 2, 3], { dtype: 'float32' }) });
 * ```
 *
 * @module
 */

import '../index.node.js';

export { type OnnxRuntimeCode, OnnxRuntimeError } from './error.js';
export { loadSession, type Model } from './load-session.js';
export type { Provider, RunOptions, SessionOptions } from './options.js';
export { loadRuntime, type Runtime } from './runtime.js';
export type { Session } from './session.js';
export type { ModelMetadata, ValueInfo, ValueType } from './value-info.js';
export type { Input, Output, StringTensor } from './values.js';
