/**
 * Registers all adapters: after `import 'dlpack/adapters/register'`, `fromDLPack(x)`, `Tensor.from(x)` and arguments of
 * Python and TVM-FFI functions accept the objects of all libraries in `dlpack/adapters`.
 *
 * @module
 */

import { registered } from '../protocol/adapters.js';
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
import { isSharp, type SharpImage } from './sharp.js';
import type { StdlibArray } from './stdlib.js';
import type { TensorFlowTensor } from './tensorflow.js';
import type { TransformersTensor } from './transformers.js';
import type { TvmjsTensor } from './tvmjs.js';
import { isZarrita, type ZarritaChunk } from './zarrita.js';

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

registered.adapt = (source, copy, isArgument = false) => {
  if (DLPACK in source || '__dlpack__' in source) return null; // the protocol comes first
  if (isArgument && isDictionary(source)) return null;
  const tensor = tryAdapt(source, copy === false ? { copy } : undefined);
  return tensor === null ? null : takeDescriptor(tensor);
};
