/** `AudioBuffer` of Web Audio, with an array for each channel. */

import { ArgumentTypeError, LayoutError } from '../errors.js';
import type { DLPackSource } from '../protocol/managed.js';
import { Tensor } from '../tensor.js';
import { type Adapter, takeObject } from './adapter.js';
import { lend } from './lend.js';
import { type AdaptOptions, checkCopied, type ToOptions } from './options.js';
import { share } from './share.js';

/** The part of `AudioBuffer` that the adapter uses. */
export interface AudioBufferLike {
  /** The number of channels, such as 2 for stereo. */
  readonly numberOfChannels: number;
  /** The number of samples in each channel. */
  readonly length: number;
  /**
   * Returns the samples of one channel, without a copy.
   *
   * @param channel - The number of the channel, from 0.
   */
  getChannelData(channel: number): Float32Array;
}

/** The options of {@link fromAudioBuffer}. */
export interface AudioOptions extends AdaptOptions {
  /** Only this channel, over its memory; all channels when absent. */
  channel?: number;
}

/** The options of {@link toAudioBuffer}. */
export interface ToAudioOptions extends ToOptions {
  /** Samples of each channel in a second. */
  sampleRate: number;
}

export const audioBufferAdapter: Adapter = {
  name: 'AudioBuffer',
  object: 'an AudioBuffer',
  dtypes: ['float32'],
  is: isAudioBuffer,
  from: fromAudioBuffer,
  to: toAudioBuffer,
};

export function isAudioBuffer(value: object): value is AudioBufferLike {
  const { numberOfChannels, getChannelData } = value as AudioBufferLike;
  return typeof numberOfChannels === 'number' && typeof getChannelData === 'function';
}

/**
 * Makes a tensor of the samples of an `AudioBuffer`: channels by time, or time alone with `channel`.
 *
 * @param audio - The samples, as Web Audio has them.
 * @param options - Only one channel, by its number (`channel`; all when absent). Whether to copy (`copy`; when absent,
 *   only where the library cannot share) or to move the memory out of the object (`adopt`, false when absent).
 * @returns A tensor that shares the memory of one channel. Several channels are copied, because each has an array of
 *   its own.
 * @throws ArgumentTypeError for anything but an `AudioBuffer`, and for a channel that it does not have.
 * @throws BufferError if `copy: false` forbids a copy that is needed, or `adopt` a move that is impossible.
 * @throws ForeignError if the `AudioBuffer` fails.
 * @example
 * ```ts fragment: needs a page
 * import { fromAudioBuffer } from 'dlpack/adapters';
 * const left = fromAudioBuffer(await context.decodeAudioData(bytes), { channel: 0 });
 * ```
 */
export function fromAudioBuffer(audio: AudioBufferLike, options?: AudioOptions): Tensor<'float32'> {
  return takeObject({
    adapter: audioBufferAdapter,
    value: audio,
    options,
    ownOptions: { channel: true },
    read: () => {
      const { numberOfChannels, length } = audio;
      const { channel } = options ?? {};
      const one = (index: number, shape: readonly number[], asked = options): Tensor<'float32'> => {
        const array = audio.getChannelData(index);
        return share({
          adapter: audioBufferAdapter,
          array,
          layout: { shape, dtype: 'float32' },
          options: asked,
        }) as Tensor<'float32'>;
      };
      if (channel !== undefined) {
        // A page would take a string for channel 0.
        if (!Number.isInteger(channel) || channel < 0 || channel >= numberOfChannels) {
          throw new ArgumentTypeError('channel', `an integer below ${numberOfChannels}`, channel);
        }
        return one(channel, [length]);
      }
      if (numberOfChannels === 1) return one(0, [1, length]);
      checkCopied(options, 'each channel has its own array; pass { channel }');
      const tensor = Tensor.empty([numberOfChannels, length], 'float32');
      try {
        for (let i = 0; i < numberOfChannels; i++) tensor.slice([i, i + 1]).copyFrom(one(i, [1, length], {}));
      } catch (error) {
        tensor.dispose();
        throw error;
      }
      return tensor;
    },
  });
}

/**
 * Makes an `AudioBuffer` with a copy of the samples of a `float32` tensor (channels by time).
 *
 * @param source - The tensor, or any object with tensors that `fromDLPack` takes.
 * @param AudioBuffer - The class.
 * @param options - The samples in a second (`sampleRate`). `copy: false` throws, because the samples are always copied.
 * @returns A new `AudioBuffer` with its own memory.
 * @throws ArgumentTypeError for anything but a tensor and the class.
 * @throws UnsupportedDTypeError for a dtype that an `AudioBuffer` does not have.
 * @throws LayoutError for anything but two axes.
 * @throws BufferError for `copy: false`.
 * @throws ForeignError if the class refuses the lengths or the rate.
 * @example
 * ```ts fragment: needs a page
 * import { toAudioBuffer } from 'dlpack/adapters';
 * const audio = toAudioBuffer(x, AudioBuffer, { sampleRate: 48_000 });
 * ```
 */
export function toAudioBuffer<T extends AudioBufferLike>(
  source: DLPackSource,
  AudioBuffer: { new (options: never): T },
  options: ToAudioOptions,
): T {
  return lend({
    adapter: audioBufferAdapter,
    source,
    library: {
      value: AudioBuffer,
      property: 'call',
      usage: 'toAudioBuffer(x, AudioBuffer, { sampleRate }), with the class',
    },
    options,
    ownOptions: { sampleRate: true },
    copied: 'the samples of an AudioBuffer are copied',
    make: ({ array, tensor: { shape, ndim } }) => {
      const [numberOfChannels = 0, length = 0] = shape;
      if (ndim !== 2) throw new LayoutError('Expected channels by time for AudioBuffer', shape);
      const audio = new AudioBuffer({ numberOfChannels, length, sampleRate: options?.sampleRate } as never);
      for (let i = 0; i < numberOfChannels; i++) {
        audio.getChannelData(i).set((array as Float32Array).subarray(i * length, (i + 1) * length));
      }
      return audio;
    },
  });
}
