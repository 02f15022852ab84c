/**
 * Registers all adapters: after `import 'dlpack/adapters/register'`, `fromDLPack(x)`, `Tensor.from(x)` and arguments of
 * Python functions accept the objects of all libraries in `dlpack/adapters`.
 *
 * @module
 */

import { setObjectAdapter } from '../protocol/adapters.js';
import { DLPACK } from '../protocol/managed.js';
import { takeDescriptor } from '../view.js';
import { tryAdapt } from './adapt.js';
import type { ArrowVector } from './arrow.js';
import type { AudioBufferLike } from './audio-buffer.js';
import type { ImageDataLike } from './image-data.js';
import type { JaxArray } from './jax-js.js';
import type { LiteRTTensor } from './litert.js';
import type { NdArray } from './ndarray.js';
import type { OnnxTensor } from './onnxruntime.js';
import type { SharpImage } from './sharp.js';
import type { StdlibArray } from './stdlib.js';
import type { TensorFlowTensor } from './tensorflow.js';
import type { TransformersTensor } from './transformers.js';
import type { TvmjsTensor } from './tvmjs.js';
import type { ZarritaChunk } from './zarrita.js';

declare module '../protocol/adapters.js' {
  interface AdaptedSources {
    arrow: ArrowVector;
    audioBuffer: AudioBufferLike;
    imageData: ImageDataLike;
    jaxJs: JaxArray;
    litert: LiteRTTensor;
    ndarray: NdArray;
    onnxRuntime: OnnxTensor;
    sharp: SharpImage;
    stdlib: StdlibArray;
    tensorFlow: TensorFlowTensor;
    transformers: TransformersTensor;
    tvmjs: TvmjsTensor;
    zarrita: ZarritaChunk;
  }
}

setObjectAdapter((source, copy) => {
  if (DLPACK in source || '__dlpack__' in source) return null; // the protocol comes first
  const tensor = tryAdapt(source, copy === false ? { copy } : undefined);
  return tensor === null ? null : takeDescriptor(tensor);
});
