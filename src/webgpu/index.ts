/**
 * Tensors in GPUBuffers: made, copied, read back. Importing this module lets every function that takes a device accept
 * a `GPUDevice`.
 *
 * @example
 * ```ts fragment: needs a GPUDevice
 * import { Tensor } from 'dlpack';
 * import 'dlpack/webgpu';
 * const x = Tensor.from([[1, 2, 3], [4, 5, 6]], { dtype: 'float32' }).to(gpuDevice);
 * const y = await x.transpose().toAsync('cpu'); // a shader packs the elements, and the host reads them back
 * ```
 *
 * @module
 */

import { register } from './backend.js';

export type { FromImageOptions, ImageDType, ImageLayout } from '../adapters/image-options.js';
export type { GPUTextureLike } from './api.js';
export { type FromGPUBufferOptions, fromGPUBuffer, type GPUMemory, gpuMemoryOf } from './buffers.js';
export { DeviceLostError } from './error.js';
export { fromImage } from './from-image.js';
export { type CanvasLike, toCanvas, toTexture } from './to-image.js';

register();
