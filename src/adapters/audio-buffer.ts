/** `AudioBuffer` of Web Audio, with an array for each channel. */

import { ArgumentTypeError, LayoutError } from '../errors.js';
import { Tensor } from '../tensor.js';
import { type AdaptOptions, callLibrary, checkAdapt, checkCopied, lend, share } from './share.js';

/** The part of `AudioBuffer` that the adapter uses. */
export interface AudioBufferLike {
  readonly numberOfChannels: number;
  readonly length: number;
  getChannelData(channel: number): Float32Array;
}

export interface AudioOptions extends AdaptOptions {
  /** Only this channel, over its memory. */
  channel?: number;
}

export function isAudioBuffer(value: object): value is AudioBufferLike {
  const { numberOfChannels, getChannelData } = value as AudioBufferLike;
  return typeof numberOfChannels === 'number' && typeof getChannelData === 'function';
}

/** The samples as channels by time. Several channels are copied, because each has an array of its own. */
export function fromAudioBuffer(audio: AudioBufferLike, options?: AudioOptions): Tensor {
  checkAdapt(audio, audio?.getChannelData, 'an AudioBuffer', options, {
    copy: 'boolean or null',
    gpuDevice: true,
    adopt: 'boolean',
    backend: true,
    channel: true,
  });
  const { numberOfChannels, length } = audio;
  const { channel } = options ?? {};
  if (channel !== undefined) {
    // A page would take a string for channel 0.
    if (!Number.isInteger(channel) || channel < 0 || channel >= numberOfChannels) {
      throw new ArgumentTypeError('channel', `an integer below ${numberOfChannels}`, channel);
    }
    return share(audio.getChannelData(channel), { shape: [length] }, options);
  }
  if (numberOfChannels === 1) return share(audio.getChannelData(0), { shape: [1, length] }, options);
  checkCopied(options, 'each channel has its own array; pass { channel }');
  const tensor = Tensor.empty([numberOfChannels, length], 'float32');
  for (let i = 0; i < numberOfChannels; i++) tensor.data.set(audio.getChannelData(i), i * length);
  return tensor;
}

/** An `AudioBuffer` with the samples of a `float32` tensor (channels by time), always a copy. */
export function toAudioBuffer<T extends AudioBufferLike = AudioBufferLike>(
  source: object,
  sampleRate: number,
  Made: { new (options: never): T } = (globalThis as never as { AudioBuffer: never }).AudioBuffer,
): T {
  return lend(
    source,
    ['float32'],
    'AudioBuffer',
    Made,
    'call',
    'use toAudioBuffer(x, rate, AudioBuffer), with the class',
    undefined,
    (array, { shape, ndim }) => {
      const [numberOfChannels = 0, length = 0] = shape;
      if (ndim !== 2) throw new LayoutError('Expected channels by time for AudioBuffer', shape);
      const audio = callLibrary('AudioBuffer', () => new Made({ numberOfChannels, length, sampleRate } as never));
      for (let i = 0; i < numberOfChannels; i++) {
        audio.getChannelData(i).set((array as Float32Array).subarray(i * length, (i + 1) * length));
      }
      return audio;
    },
  );
}
