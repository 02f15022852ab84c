/** `VideoFrame` of WebCodecs. Its pixels are outside JavaScript memory, so both directions copy, on the host or on a GPU. */

import { BufferError, isUsable, LayoutError } from '../errors.js';
import type { DLPackSource } from '../protocol/managed.js';
import { Tensor } from '../tensor.js';
import { type Adapter, awaitLibrary, takeObject } from './adapter.js';
import { gpuBuffers } from './gpu-buffers.js';
import type { FromImageOptions } from './image-options.js';
import { lend } from './lend.js';
import { type AdaptOptions, checkCopied, type ToOptions } from './options.js';

/** The part of `VideoFrame` that the adapter uses. */
export interface VideoFrameLike {
  /** The part of the frame that is shown; null after `close()`. */
  readonly visibleRect: {
    /** The width in pixels. */
    readonly width: number;
    /** The height in pixels. */
    readonly height: number;
  } | null;
  /** Copies the pixels into memory. */
  copyTo(target: never, options?: never): Promise<unknown>;
  /** Returns how many bytes `copyTo` writes. */
  allocationSize(options?: never): number;
}

/** The options of {@link toVideoFrame}. */
export interface VideoFrameOptions extends ToOptions {
  /** Microseconds from the start of the video. */
  timestamp: number;
  /** Microseconds; unknown when absent. */
  duration?: number;
}

const copied = 'the pixels of a VideoFrame are copied';

export const videoFrameAdapter: Adapter = {
  name: 'VideoFrame',
  object: 'a VideoFrame',
  dtypes: ['uint8'],
  is: isVideoFrame,
  from: fromVideoFrame,
  to: toVideoFrame,
};

export function isVideoFrame(value: object): value is VideoFrameLike {
  const { copyTo, allocationSize } = value as VideoFrameLike;
  return typeof copyTo === 'function' && typeof allocationSize === 'function';
}

/**
 * Copies the visible pixels of a frame as rows by columns by red, green, blue and alpha, converted by the browser if
 * the frame has another format. With a GPUDevice as `device` the pixels never reach the host, and the tensor is that of
 * `fromImage`. The caller closes the frame.
 *
 * @param frame - An open frame.
 * @param options - With `device`, the options of `fromImage` of `dlpack/webgpu`. `copy: false` throws, because the
 *   pixels are always copied.
 * @returns A promise of the tensor: `uint8` in host memory when there is no `device`.
 * @throws ArgumentTypeError for anything but a `VideoFrame`.
 * @throws BufferError for a closed frame, and for `copy: false`.
 * @throws OutOfMemoryError if there is not enough memory.
 * @throws ForeignError if the frame cannot be read.
 * @example
 * ```ts fragment: needs a page
 * import { fromVideoFrame } from 'dlpack/adapters';
 * const x = await fromVideoFrame(frame, { device: gpuDevice, height: 224, width: 224 });
 * frame.close();
 * ```
 */
export async function fromVideoFrame(frame: VideoFrameLike, options?: AdaptOptions): Promise<Tensor<'uint8'>>;
export async function fromVideoFrame(frame: VideoFrameLike, options: FromImageOptions): Promise<Tensor>;
export async function fromVideoFrame(
  frame: VideoFrameLike,
  options?: AdaptOptions | FromImageOptions,
): Promise<Tensor> {
  if (isUsable(options) && 'device' in options) return gpuBuffers().image(frame, options);
  return takeObject({
    adapter: videoFrameAdapter,
    value: frame,
    options,
    read: async () => {
      checkCopied(options, copied);
      return awaitLibrary(videoFrameAdapter.name, () => pixelsOf(frame));
    },
  });
}

async function pixelsOf(frame: VideoFrameLike): Promise<Tensor<'uint8'>> {
  const { visibleRect } = frame;
  if (visibleRect === null) throw new BufferError('Expected an open VideoFrame but this one was closed');
  const { width, height } = visibleRect;
  const tensor = Tensor.empty([height, width, 4], 'uint8');
  try {
    await frame.copyTo(tensor.data as never, { format: 'RGBA', layout: [{ offset: 0, stride: width * 4 }] } as never);
    return tensor;
  } catch (error) {
    tensor.dispose();
    throw error;
  }
}

/**
 * Makes a `VideoFrame` with a copy of the pixels of a `uint8` tensor (rows by columns by four channels). The caller
 * closes it.
 *
 * @param source - The tensor, or any object with tensors that `fromDLPack` takes.
 * @param VideoFrame - The class.
 * @param options - Microseconds from the start (`timestamp`) and of the frame (`duration`; unknown when absent). `copy:
 *   false` throws, because the pixels are always copied.
 * @returns A new frame.
 * @throws ArgumentTypeError for anything but a tensor and the class.
 * @throws UnsupportedDTypeError for a dtype that a `VideoFrame` does not have.
 * @throws LayoutError for another shape.
 * @throws BufferError for `copy: false`.
 * @throws ForeignError if the class refuses the pixels.
 * @example
 * ```ts fragment: needs a page
 * import { toVideoFrame } from 'dlpack/adapters';
 * const frame = toVideoFrame(x, VideoFrame, { timestamp: 0 });
 * ```
 */
export function toVideoFrame<T>(
  source: DLPackSource,
  VideoFrame: { new (data: never, init: never): T },
  options: VideoFrameOptions,
): T {
  return lend({
    adapter: videoFrameAdapter,
    source,
    library: {
      value: VideoFrame,
      property: 'call',
      usage: 'toVideoFrame(x, VideoFrame, { timestamp }), with the class',
    },
    options,
    ownOptions: { timestamp: true, duration: true },
    copied,
    make: ({ array, tensor: { shape, ndim } }) => {
      const [codedHeight, codedWidth, channels] = shape;
      if (ndim !== 3 || channels !== 4) {
        throw new LayoutError('Expected rows by columns by four channels for VideoFrame', shape);
      }
      const { copy, ...times } = options ?? {};
      return new VideoFrame(array as never, { format: 'RGBA', codedWidth, codedHeight, ...times } as never);
    },
  });
}
