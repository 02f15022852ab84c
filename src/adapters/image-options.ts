/** How images on a GPUDevice become tensors, and tensors images. `dlpack/webgpu` converts them. */

import type { DeviceArgument } from '../device.js';

/** The element types that an image can be converted to. */
export type ImageDType = 'float32' | 'float16' | 'uint8';

/** How the channels of an image lie in a tensor, and how its values were normalised. */
export interface ImageLayout {
  /** `'CHW'`: planes of red, green and blue, as most models need them; `'HWC'`: pixels. `'CHW'` when absent. */
  layout?: 'CHW' | 'HWC';
  /** Subtracted from values between 0 and 1: one number, or one for each of red, green and blue. 0 when absent. */
  mean?: number | readonly number[];
  /** Divides the values after that. 1 when absent; `1 / 255` for values between 0 and 255. */
  std?: number | readonly number[];
}

/** How an image becomes a tensor. */
export interface FromImageOptions<D extends ImageDType = ImageDType> extends ImageLayout {
  /** The GPUDevice of the tensor. */
  device: DeviceArgument;
  /** `'float32'` when absent. The values of `'uint8'` are 0 to 255, and those of the others 0 to 1 before `mean` and `std`. */
  dtype?: D;
  /** Rows of the tensor; those of the image when absent. */
  height?: number;
  /** Columns of the tensor; those of the image when absent. */
  width?: number;
  /**
   * How an image of another shape fits, as in CSS: `'fill'` stretches it, `'contain'` adds black bars, `'cover'` cuts
   * edges off. `'fill'` when absent.
   */
  fit?: 'fill' | 'contain' | 'cover';
  /** 3: red, green and blue; 4: with alpha. 3 when absent. */
  channels?: 3 | 4;
}
