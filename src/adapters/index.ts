/**
 * Tensors of JavaScript libraries: `fromX` and `toX` for each, without a copy where the library allows it.
 *
 * An adapter recognises objects by their properties, so it works with any copy and any build of a library, and imports
 * none. This module has no side effects: a bundle contains the adapters that it uses.
 *
 * @example
 * ```ts
 * import { fromOnnxRuntime, toOnnxRuntime } from 'dlpack/adapters';
 * const { y } = await session.run({ x: toOnnxRuntime(x, ort) });
 * const result = fromOnnxRuntime(y, { adopt: true });
 * ```
 *
 * @module
 */

export { adapt } from './adapt.js';
export { fromJaxJs, type JaxArray, type JaxModule, toJaxJs } from './jax-js.js';
export { fromOnnxRuntime, type OnnxModule, type OnnxTensor, toOnnxRuntime } from './onnxruntime.js';
export type { AdaptOptions, LendOptions } from './share.js';
export { fromTensorFlow, type TensorFlowModule, type TensorFlowTensor, toTensorFlow } from './tensorflow.js';
export { fromTransformers, type TransformersTensor, toTransformers } from './transformers.js';
