/**
 * Registers all adapters: after `import 'dlpack/adapters/register'`, `fromDLPack(x)`, `Tensor.from(x)` and arguments of
 * Python and TVM-FFI functions accept the objects of all libraries in `dlpack/adapters`.
 *
 * @module
 */

import { adapters } from '../protocol/adapters.js';
import { DLPACK } from '../protocol/managed.js';
import { takeDescriptor } from '../view.js';
import { tryAdapt } from './adapt.js';
import type { ArrowVector } from './arrow.js';
import type { AudioBufferLike } from './audio-buffer.js';
import type { DuckDBVector } from './duckdb.js';
import type { ImageDataLike } from './image-data.js';
import type { JaxArray } from './jax-js.js';
import type { LiteRTTensor } from './litert.js';
import type { MediaPipeMask } from './mediapipe.js';
import type { NdArray } from './ndarray.js';
import type { NumpyTsArray } from './numpy-ts.js';
import type { OnnxTensor } from './onnxruntime.js';
import type { OpenCVMat } from './opencv.js';
import { isSharp, type SharpImage } from './sharp.js';
import type { StdlibArray } from './stdlib.js';
import type { TensorFlowTensor } from './tensorflow.js';
import type { TransformersTensor } from './transformers.js';
import type { TvmjsTensor } from './tvmjs.js';
import type { TypeGPUBuffer } from './typegpu.js';
import { isZarrita, type ZarritaChunk } from './zarrita.js';

declare module '../protocol/adapters.js' {
  interface AdaptedSources {
    /** A vector of Apache Arrow. */
    arrow: ArrowVector;
    /** An `AudioBuffer`. */
    audioBuffer: AudioBufferLike;
    /** An `ImageData`, or a `RawImage` of transformers.js. */
    imageData: ImageDataLike;
    /** An array of jax-js. */
    jaxJs: JaxArray;
    /** A tensor of LiteRT.js. */
    litert: LiteRTTensor;
    /** An ndarray. */
    ndarray: NdArray;
    /** A tensor of ONNX Runtime. */
    onnxRuntime: OnnxTensor;
    /** A raw image of sharp. */
    sharp: SharpImage;
    /** An ndarray of stdlib. */
    stdlib: StdlibArray;
    /** A tensor of TensorFlow.js. */
    tensorFlow: TensorFlowTensor;
    /** A tensor of transformers.js. */
    transformers: TransformersTensor;
    /** A tensor of TVM.js. */
    tvmjs: TvmjsTensor;
    /** A vector of DuckDB. */
    duckDB: DuckDBVector;
    /** A mask of MediaPipe. */
    mediaPipe: MediaPipeMask;
    /** An array of numpy-ts. */
    numpyTs: NumpyTsArray;
    /** A matrix of OpenCV.js. */
    openCV: OpenCVMat;
    /** A buffer of TypeGPU. */
    typeGPU: TypeGPUBuffer;
    /** A chunk of zarrita. */
    zarrita: ZarritaChunk;
  }
}

/**
 * True for a plain object other than a raw image of sharp and a chunk of zarrita, which are plain objects, too. All other
 * libraries have classes.
 */
function isDictionary(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  const names = Object.keys(value).sort().join();
  const isImage = names === 'data,info' && isSharp(value);
  return !(isImage || (names === 'data,shape,stride' && isZarrita(value) && ArrayBuffer.isView(value.data)));
}

adapters.adapt = (source, copy, isArgument = false) => {
  if (DLPACK in source || '__dlpack__' in source) return null; // the protocol comes first
  if (isArgument && isDictionary(source)) return null;
  const tensor = tryAdapt(source, copy === false ? { copy } : undefined);
  return tensor === null ? null : takeDescriptor(tensor);
};
