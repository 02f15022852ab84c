/** A tensor as a PNG: an image, or any matrix with its least element black and its greatest white. */

import { shareOf } from '../../base/share-of.js';
import { ArgumentValueError } from '../../errors.js';
import { encodePng, isChannels } from '../../native/png.js';
import type { Tensor } from '../../tensor.js';
import { statisticsOf } from './statistics.js';

/** The tensor as height, width, channels. */
function asImage(tensor: Tensor): Tensor {
  const [first = 0, , last = 0] = tensor.shape;
  if (tensor.ndim === 1) return tensor.reshape([1, tensor.size, 1]);
  if (tensor.ndim === 2) return tensor.reshape([...tensor.shape, 1]);
  if (tensor.ndim === 3 && isChannels(last)) return tensor.slice();
  if (tensor.ndim === 3 && isChannels(first)) return tensor.transpose([1, 2, 0]);
  if (tensor.ndim === 4 && first === 1) {
    using image = tensor.reshape(tensor.shape.slice(1));
    return asImage(image);
  }
  const expected = 'a tensor of two axes, or of three with 1, 3 or 4 channels first or last';
  throw new ArgumentValueError('image', expected, `${tensor.dtype} [${tensor.shape.join(', ')}]`);
}

export function pngOf(tensor: Tensor): Uint8Array {
  using contiguous = tensor.contiguous();
  using image = asImage(contiguous);
  const [height, width, channels] = image.shape as [number, number, number];
  if (image.size === 0) throw new ArgumentValueError('image', 'a tensor with elements', image.shape);
  return encodePng(grey(image), height, width, channels);
}

/** A byte for each element, in row-major order. */
function grey(image: Tensor): Uint8Array {
  using contiguous = image.contiguous();
  if (image.dtype === 'uint8') return Uint8Array.from(contiguous.unsafeData() as Uint8Array);
  const statistics = statisticsOf(contiguous);
  if (statistics === null) throw new ArgumentValueError('image', 'a tensor with finite numbers', image.dtype);
  const { min, max } = statistics;
  using values = contiguous.astype('float64');
  // Clamped, so that infinities are black or white. NaN is black.
  return new Uint8Array(
    Uint8ClampedArray.from(values.data as Float64Array, (value) => 255 * shareOf(value, min, max)).buffer,
  );
}
