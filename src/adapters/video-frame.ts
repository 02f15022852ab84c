/** `VideoFrame` of WebCodecs. Its pixels are outside JavaScript memory, so both directions copy. */

import { BufferError, LayoutError } from '../errors.js';
import { Tensor } from '../tensor.js';
import { type AdaptOptions, callLibrary, checkAdapt, checkCopied, lend } from './share.js';

/** The part of `VideoFrame` that the adapter uses. */
export interface VideoFrameLike {
  readonly visibleRect: { readonly width: number; readonly height: number } | null;
  copyTo(target: never, options?: never): Promise<unknown>;
  allocationSize(options?: never): number;
}

export function isVideoFrame(value: object): value is VideoFrameLike {
  const { copyTo, allocationSize } = value as VideoFrameLike;
  return typeof copyTo === 'function' && typeof allocationSize === 'function';
}

/**
 * The visible pixels of a frame as rows by columns by red, green, blue and alpha, converted by the browser if the frame
 * has another format. The caller closes the frame.
 */
export async function fromVideoFrame(frame: VideoFrameLike, options?: AdaptOptions): Promise<Tensor> {
  checkAdapt(frame, frame?.copyTo, 'a VideoFrame', options);
  checkCopied(options, 'the pixels of a VideoFrame are copied');
  if (frame.visibleRect === null) throw new BufferError('Expected an open VideoFrame but this one was closed');
  const { width, height } = frame.visibleRect;
  const tensor = Tensor.empty([height, width, 4], 'uint8');
  try {
    await frame.copyTo(tensor.data as never, { format: 'RGBA', layout: [{ offset: 0, stride: width * 4 }] } as never);
    return tensor;
  } catch (error) {
    tensor.dispose();
    throw error;
  }
}

/** A `VideoFrame` with the pixels of a `uint8` tensor. The caller closes the frame. */
export function toVideoFrame<T = VideoFrameLike>(
  source: object,
  init: { timestamp: number; duration?: number },
  Made: { new (data: never, init: never): T } = (globalThis as never as { VideoFrame: never }).VideoFrame,
): T {
  return lend(
    source,
    ['uint8'],
    'VideoFrame',
    Made,
    'call',
    'use toVideoFrame(x, init, VideoFrame), with the class',
    undefined,
    (array, { shape, ndim }) => {
      const [codedHeight, codedWidth, channels] = shape;
      if (ndim !== 3 || channels !== 4) {
        throw new LayoutError('Expected rows by columns by four channels for VideoFrame', shape);
      }
      const whole = { format: 'RGBA', codedWidth, codedHeight, ...init };
      return callLibrary('VideoFrame', () => new Made(array as never, whole as never));
    },
  );
}
