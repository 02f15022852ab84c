/** Images that a page has, as textures that a shader can read. */

import { dtypeOfArray } from '../dtype.js';
import { ArgumentTypeError, BufferError, isUsable } from '../errors.js';
import { type GPUTextureLike, TextureUsage } from './api.js';
import type { DeviceState } from './device-state.js';

/** An image in host memory: an `ImageData`, or another object with red, green, blue and alpha of each pixel. */
interface Pixels {
  readonly data: ArrayBufferView;
  readonly width: number;
  readonly height: number;
}

/** An image as a shader reads it. */
export interface Picture {
  /** The type of the binding in a shader. */
  readonly type: 'texture_2d<f32>' | 'texture_external';
  readonly resource: object;
  readonly width: number;
  readonly height: number;
}

const expected =
  'a VideoFrame, an ImageBitmap, a canvas, a video or image element, an ImageData or a GPUTexture of the device';

/** The picture of an image. It is valid until the end of the current task, because frames of a video expire then. */
export function pictureOf(state: DeviceState, source: unknown): Picture {
  state.checkAlive();
  if (!isUsable(source)) throw new ArgumentTypeError('source', expected, source);
  if (isTexture(source)) return ofTexture(source);
  if (isPixels(source)) return ofPixels(state, source);
  return ofExternal(state, source);
}

const isTexture = (value: object): value is GPUTextureLike =>
  typeof (value as GPUTextureLike).createView === 'function' && typeof (value as GPUTextureLike).format === 'string';

const isPixels = (value: object): value is Pixels => ArrayBuffer.isView((value as Pixels).data);

/** Refuses textures whose pixels are no colours. WebGPU itself would tell only the device's `uncapturederror` event. */
export function checkTexture({
  format,
  sampleCount = 1,
  dimension = '2d',
  depthOrArrayLayers = 1,
}: GPUTextureLike): void {
  if (/[us]int$|^depth|^stencil/.test(format)) {
    throw new BufferError(`Expected a GPUTexture of colours, such as 'rgba8unorm', but its format is '${format}'`);
  }
  if (sampleCount !== 1) {
    throw new BufferError(
      `Expected a GPUTexture with one sample for each pixel but it has ${sampleCount}; resolve it in a render pass first`,
    );
  }
  if (dimension !== '2d' || depthOrArrayLayers !== 1) {
    throw new BufferError(
      `Expected a GPUTexture of rows and columns but it has ${depthOrArrayLayers} layers and dimension '${dimension}'; ` +
        'copy one layer into a texture',
    );
  }
}

function ofTexture(texture: GPUTextureLike): Picture {
  const { width, height, usage } = texture;
  checkTexture(texture);
  if ((usage & TextureUsage.textureBinding) === 0) {
    throw new BufferError('Expected a GPUTexture with usage TEXTURE_BINDING, but its owner made it without');
  }
  return { type: 'texture_2d<f32>', resource: texture.createView(), width, height };
}

const targetUsage = TextureUsage.copyTarget | TextureUsage.textureBinding | TextureUsage.renderAttachment;

const wrapAdvice = 'copy another image to the device as it is: Tensor.wrap(data, { shape }).to(gpuDevice)';

function ofPixels(state: DeviceState, { data, width, height }: Pixels): Picture {
  checkSize(width, height);
  const dtype = dtypeOfArray(data)?.name;
  const isWide = dtype === 'float16'; // an ImageData with the pixel format 'rgba-float16'
  if (!isWide && dtype !== 'uint8') {
    const expectedData = 'a Uint8ClampedArray, Uint8Array or Float16Array of red, green, blue and alpha';
    throw new ArgumentTypeError('source.data', expectedData, data, wrapAdvice);
  }
  const nbytes = width * height * (isWide ? 8 : 4);
  if (data.byteLength !== nbytes) {
    throw new BufferError(
      `Expected ${width} × ${height} pixels of red, green, blue and alpha, ${nbytes} bytes, but the image has ${data.byteLength}; ` +
        wrapAdvice,
    );
  }
  const texture = state.imageTexture(width, height, isWide ? 'rgba16float' : 'rgba8unorm', targetUsage);
  const bytesPerRow = width * (isWide ? 8 : 4);
  state.gpuDevice.queue.writeTexture({ texture }, data, { bytesPerRow }, [width, height]);
  return { type: 'texture_2d<f32>', resource: texture.createView(), width, height };
}

/** What names the size of an image: a VideoFrame, a video element, an image element, and everything else. */
const sizes = [
  ['displayWidth', 'displayHeight'],
  ['videoWidth', 'videoHeight'],
  ['naturalWidth', 'naturalHeight'],
  ['width', 'height'],
] as const;

function ofExternal(state: DeviceState, source: object): Picture {
  const names = sizes.find(([name]) => typeof (source as Record<string, unknown>)[name] === 'number');
  if (names === undefined) throw new ArgumentTypeError('source', expected, source);
  const [width, height] = names.map((name) => (source as Record<string, number>)[name]) as [number, number];
  checkSize(width, height);
  const { gpuDevice } = state;
  const isVideo = names[0] === 'displayWidth' || names[0] === 'videoWidth';
  const resource = isVideo ? importedVideo(state, source) : null;
  if (resource !== null) return { type: 'texture_external', resource, width, height };
  if (gpuDevice.queue.copyExternalImageToTexture === undefined) {
    throw new ArgumentTypeError('source', 'an ImageData or a GPUTexture, because this is no page', source);
  }
  const texture = state.imageTexture(width, height, 'rgba8unorm', targetUsage);
  gpuDevice.queue.copyExternalImageToTexture({ source }, { texture }, [width, height]);
  return { type: 'texture_2d<f32>', resource: texture.createView(), width, height };
}

/**
 * The frame where the decoder has written it, whose colours the shader converts. Null where the browser cannot share it with
 * the device, as Chromium with its software adapter: then the browser copies the frame.
 */
function importedVideo({ gpuDevice }: DeviceState, source: object): object | null {
  try {
    return gpuDevice.importExternalTexture?.({ source }) ?? null;
  } catch {
    return null;
  }
}

function checkSize(width: number, height: number): void {
  if (width > 0 && height > 0) return;
  throw new BufferError(
    `Expected an image with pixels but it has ${width} × ${height}: it is closed, or not loaded yet; ` +
      'wait for the load event of an image, or use requestVideoFrameCallback() of a video',
  );
}
