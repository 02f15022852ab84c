/**
 * Tensors of JavaScript libraries: `fromX` and `toX` for each, without a copy where the library allows it.
 *
 * An adapter recognises objects by their properties, so it works with any copy and any build of a library, and imports
 * none. This module has no side effects: a bundle contains the adapters that it uses.
 *
 * @example
 * ```ts fragment: needs a session
 * import { fromOnnxRuntime, toOnnxRuntime } from 'dlpack/adapters';
 * const { y } = await session.run({ x: toOnnxRuntime(x, ort) });
 * const result = fromOnnxRuntime(y, { adopt: true });
 * ```
 *
 * @module
 */

export { type AnyAdaptOptions, adapt } from './adapt.js';
export type { NamedDType } from './adapter.js';
export {
  type ArrowData,
  type ArrowModule,
  type ArrowOptions,
  type ArrowType,
  type ArrowVector,
  arrowValidity,
  fromArrow,
  toArrow,
} from './arrow.js';
export {
  type AudioBufferLike,
  type AudioOptions,
  fromAudioBuffer,
  type ToAudioOptions,
  toAudioBuffer,
} from './audio-buffer.js';
export {
  type DuckDBChunk,
  type DuckDBModule,
  type DuckDBOptions,
  type DuckDBType,
  type DuckDBVector,
  duckDBValidity,
  fromDuckDB,
  toDuckDB,
} from './duckdb.js';
export { fromImageData, type ImageDataLike, toImageData } from './image-data.js';
export { fromJaxJs, type JaxArray, type JaxModule, toJaxJs } from './jax-js.js';
export { fromLiteRT, type LiteRTModule, type LiteRTTensor, toLiteRT } from './litert.js';
export { fromMediaPipe, type MediaPipeMask, type MediaPipeModule, toMediaPipe } from './mediapipe.js';
export { fromMLTensor, type MLContextLike, type MLTensorLike, type MLTensorOptions, toMLTensor } from './ml-tensor.js';
export { fromNdarray, type NdArray, toNdarray } from './ndarray.js';
export { fromNumpyTs, type NumpyStorage, type NumpyTsArray, type NumpyTsModule, toNumpyTs } from './numpy-ts.js';
export { fromOnnxRuntime, type OnnxModule, type OnnxTensor, toOnnxRuntime } from './onnxruntime.js';
export { fromOpenCV, type OpenCVMat, type OpenCVModule, toOpenCV } from './opencv.js';
export type { AdaptOptions, GPUAdaptOptions, GPUToOptions, ToOptions } from './options.js';
export { fromSharp, type SharpImage, type SharpOptions, toSharp } from './sharp.js';
export { fromStdlib, type StdlibArray, toStdlib } from './stdlib.js';
export {
  fromTensorFlow,
  type TensorFlowModule,
  type TensorFlowOptions,
  type TensorFlowTensor,
  toTensorFlow,
} from './tensorflow.js';
export { fromTransformers, type TransformersTensor, toTransformers } from './transformers.js';
export { fromTvmjs, type TvmjsInstance, type TvmjsOptions, type TvmjsTensor, toTvmjs } from './tvmjs.js';
export { fromTypeGPU, type TypeGPUBuffer, type TypeGPULibrary, toTypeGPU } from './typegpu.js';
export { fromVideoFrame, toVideoFrame, type VideoFrameLike, type VideoFrameOptions } from './video-frame.js';
export { fromZarrita, toZarrita, type ZarritaChunk } from './zarrita.js';
