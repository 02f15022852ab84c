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
export { type ArrowModule, type ArrowOptions, type ArrowVector, arrowValidity, fromArrow, toArrow } from './arrow.js';
export { type AudioBufferLike, type AudioOptions, fromAudioBuffer, toAudioBuffer } from './audio-buffer.js';
export { fromImageData, type ImageDataLike, toImageData } from './image-data.js';
export { fromJaxJs, type JaxArray, type JaxModule, toJaxJs } from './jax-js.js';
export { fromLiteRT, type LiteRTModule, type LiteRTTensor, toLiteRT } from './litert.js';
export { fromMLTensor, type MLContextLike, type MLTensorLike, toMLTensor } from './ml-tensor.js';
export { fromNdarray, type NdArray, toNdarray } from './ndarray.js';
export { fromOnnxRuntime, type OnnxModule, type OnnxTensor, toOnnxRuntime } from './onnxruntime.js';
export type { AdaptOptions, LendOptions } from './share.js';
export { fromSharp, type SharpImage, type SharpOptions, toSharp } from './sharp.js';
export { fromStdlib, type StdlibArray, toStdlib } from './stdlib.js';
export { fromTensorFlow, type TensorFlowModule, type TensorFlowTensor, toTensorFlow } from './tensorflow.js';
export { fromTransformers, type TransformersTensor, toTransformers } from './transformers.js';
export { fromTvmjs, type TvmjsInstance, type TvmjsTensor, toTvmjs } from './tvmjs.js';
export { fromVideoFrame, toVideoFrame, type VideoFrameLike } from './video-frame.js';
export { fromZarrita, toZarrita, type ZarritaChunk } from './zarrita.js';
