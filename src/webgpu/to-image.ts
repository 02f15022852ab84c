/** Tensors on a GPUDevice as images: drawn into a texture or onto a canvas, without the host. */

import { callLibrary } from '../adapters/adapter.js';
import type { ImageDType, ImageLayout } from '../adapters/image-options.js';
import { checkOptions, type OptionNames } from '../base/options.js';
import { checkDType } from '../dtype.js';
import { ArgumentTypeError, BufferError, isUsable, LayoutError, UnsupportedDeviceError } from '../errors.js';
import { copyOf, fromDLPack } from '../from-dlpack.js';
import type { DLPackSource } from '../protocol/managed.js';
import { GpuStorage } from '../storage/storage.js';
import type { Tensor } from '../tensor.js';
import { descriptorOf } from '../view.js';
import { type GPUTextureLike, TextureUsage, Usage } from './api.js';
import { denormalisation, oneOf } from './image-options.js';
import { drawShader } from './image-shader.js';
import { checkTexture } from './image-source.js';
import { hasUsage, memoryOf } from './memory.js';

const names: OptionNames<ImageLayout> = { layout: true, mean: true, std: true };

/** The part of a canvas that is used: of a page, or an `OffscreenCanvas`. */
export interface CanvasLike {
  /** The width in pixels. */
  width: number;
  /** The height in pixels. */
  height: number;
  /** Returns the context with this name. */
  getContext(name: never): unknown;
}

interface Configuration {
  readonly device: object;
  readonly alphaMode: string;
  readonly usage: number;
}

interface CanvasContext {
  configure(configuration: object): void;
  /** Null before the first configuration. Older browsers do not have it. */
  getConfiguration?(): Configuration | null;
  getCurrentTexture(): GPUTextureLike;
}

/** A tensor as an image. Steps are in elements. */
interface Image {
  readonly height: number;
  readonly width: number;
  readonly channels: number;
  readonly steps: readonly [row: number, column: number, channel: number];
}

/**
 * Draws a `float32`, `float16` or `uint8` tensor on a GPUDevice into a texture of the same size with usage
 * `RENDER_ATTACHMENT`. The tensor has one channel (grey), three, or four with alpha, and may be a view; a first axis of length
 * one is ignored. `mean` and `std` are those of {@link fromImage}: `value * std + mean` is drawn, from 0 to 1.
 *
 * @param source - The tensor.
 * @param texture - The texture, of the same GPUDevice.
 * @param options - The order of the axes (`layout`, `'CHW'` when absent), and `mean` (0 when absent) and `std` (1 when
 *   absent).
 * @throws ArgumentTypeError for anything but a texture, and BufferError for one of another kind or usage.
 * @throws LayoutError for another shape than an image of the size of the texture.
 * @throws UnsupportedDeviceError for a tensor that is not on WebGPU, UnsupportedDTypeError for another dtype, and
 *   ForeignError if WebGPU fails.
 * @example
 * ```ts fragment: needs a page with WebGPU
 * import { toTexture } from 'dlpack/webgpu';
 * toTexture(x, texture, { mean: [0.5, 0.5, 0.5], std: [0.5, 0.5, 0.5] });
 * ```
 */
export function toTexture(source: DLPackSource, texture: GPUTextureLike, options: ImageLayout = {}): void {
  if (!isUsable(texture) || typeof texture.createView !== 'function' || typeof texture.usage !== 'number') {
    throw new ArgumentTypeError('texture', 'a GPUTexture', texture);
  }
  const { width, height, usage } = texture;
  checkTexture(texture);
  if ((usage & TextureUsage.renderAttachment) === 0) {
    throw new BufferError('Expected a GPUTexture with usage RENDER_ATTACHMENT, but its owner made it without');
  }
  drawing(source, options, (tensor, image) => {
    if (width !== image.width || height !== image.height) {
      throw new LayoutError(
        `Expected an image of ${height} rows and ${width} columns, as the texture has`,
        tensor.shape,
      );
    }
    draw(tensor, image, texture, options, false);
  });
}

/**
 * Draws a tensor onto a canvas, which gets the tensor's size, as {@link toTexture} does. The canvas has no other context.
 *
 * @param source - The tensor.
 * @param canvas - The canvas of a page, or an `OffscreenCanvas`.
 * @param options - As for {@link toTexture}.
 * @throws ArgumentTypeError for anything but a canvas, and BufferError for one that has another context.
 * @throws LayoutError for another shape than an image.
 * @throws UnsupportedDeviceError for a tensor that is not on WebGPU, UnsupportedDTypeError for another dtype, and
 *   ForeignError if WebGPU fails.
 * @example
 * ```ts fragment: needs a page with WebGPU
 * import { toCanvas } from 'dlpack/webgpu';
 * toCanvas(x, canvas, { layout: 'HWC' });
 * ```
 */
export function toCanvas(source: DLPackSource, canvas: CanvasLike, options: ImageLayout = {}): void {
  if (!isUsable(canvas) || typeof canvas.getContext !== 'function') {
    throw new ArgumentTypeError('canvas', 'a canvas or an OffscreenCanvas', canvas);
  }
  drawing(source, options, (tensor, image) => {
    const context = canvas.getContext('webgpu' as never) as CanvasContext | null;
    if (context === null) {
      throw new BufferError('Expected a canvas for WebGPU but this one has another context; use another canvas');
    }
    const { width, height, channels } = image;
    if (canvas.width !== width) canvas.width = width;
    if (canvas.height !== height) canvas.height = height;
    const isPremultiplied = channels === 4;
    const { gpuDevice: device } = descriptorOf(tensor).storage as GpuStorage;
    const alphaMode = isPremultiplied ? 'premultiplied' : 'opaque';
    const known = context.getConfiguration === undefined ? configured.get(context) : context.getConfiguration();
    const isDrawable = ((known?.usage ?? 0) & drawable) !== 0;
    if (known?.device !== device || known.alphaMode !== alphaMode || !isDrawable) {
      context.configure({ device, format: canvasFormat(), alphaMode, usage: drawable });
      configured.set(context, { device, alphaMode, usage: drawable });
    }
    draw(tensor, image, context.getCurrentTexture(), options, isPremultiplied);
  });
}

const drawable = TextureUsage.renderAttachment;

/**
 * How this module configured each context last, for browsers that do not tell. A context keeps its configuration where that fits,
 * because a new one replaces the textures of the canvas.
 */
const configured = new WeakMap<object, Configuration>();

function canvasFormat(): string {
  const { gpu } = globalThis.navigator as { gpu?: { getPreferredCanvasFormat(): string } };
  return gpu?.getPreferredCanvasFormat() ?? 'bgra8unorm';
}

/** Calls `action` with the tensor of an object, on its GPUDevice. */
function drawing(source: DLPackSource, options: ImageLayout, action: (tensor: Tensor, image: Image) => void): void {
  checkOptions<ImageLayout>(options, names, "{ layout: 'HWC' }");
  const layout = oneOf(options.layout ?? 'CHW', ['CHW', 'HWC'], 'layout');
  let tensor = fromDLPack(source);
  try {
    const { device, storage } = descriptorOf(tensor);
    if (!(storage instanceof GpuStorage)) {
      throw new UnsupportedDeviceError(
        device.name,
        `Expected a tensor on 'webgpu' but this one is on '${device.name}'; copy it there: x.to(gpuDevice)`,
      );
    }
    checkDType(tensor.dtype, ['float32', 'float16', 'uint8'], 'an image');
    if (!isReadable(memoryOf(descriptorOf(tensor)))) tensor = copyOf(tensor);
    const image = imageOf(tensor, layout === 'CHW');
    callLibrary('WebGPU', () => action(tensor, image));
  } finally {
    tensor.dispose();
  }
}

function imageOf({ shape, strides }: Tensor, isPlanes: boolean): Image {
  const axes = shape.map((length, axis) => ({ length, step: strides[axis] as number }));
  const last = axes.length === 4 && shape[0] === 1 ? axes.slice(1) : axes;
  const [rows, columns, colours] =
    last.length === 2
      ? [...last, { length: 1, step: 0 }]
      : isPlanes
        ? [last[1], last[2], last[0]]
        : [last[0], last[1], last[2]];
  const channels = colours?.length as number;
  if (last.length > 3 || !rows?.length || !columns?.length || !colours || ![1, 3, 4].includes(channels)) {
    const order = isPlanes ? 'one, three or four planes' : 'rows by columns by one, three or four channels';
    throw new LayoutError(
      `Expected ${order}; choose { layout: '${isPlanes ? 'HWC' : 'CHW'}' } for the other order`,
      shape,
    );
  }
  return { height: rows.length, width: columns.length, channels, steps: [rows.step, columns.step, colours.step] };
}

function draw(tensor: Tensor, image: Image, texture: GPUTextureLike, options: ImageLayout, isPremultiplied: boolean) {
  const descriptor = descriptorOf(tensor);
  const { buffer, state } = memoryOf(descriptor);
  const { gpuDevice } = state;
  const dtype = tensor.dtype as ImageDType;
  const start = descriptor.bitOffset / descriptor.dtype.itemBits;
  const { steps, channels } = image;
  const code = drawShader({ dtype, start, steps, channels, linear: denormalisation(options), isPremultiplied });
  const pipeline = state.renderPipeline(code, texture.format);
  const encoder = gpuDevice.createCommandEncoder();
  const colorAttachments = [{ view: texture.createView(), loadOp: 'clear', storeOp: 'store' }];
  const pass = encoder.beginRenderPass({ colorAttachments });
  const entries = [{ binding: 0, resource: { buffer } }];
  pass.setPipeline(pipeline);
  pass.setBindGroup(0, gpuDevice.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }));
  pass.draw(3);
  pass.end();
  gpuDevice.queue.submit([encoder.finish()]);
}

/** A shader can read all of a buffer as words. */
const isReadable = ({ buffer, state }: ReturnType<typeof memoryOf>): boolean =>
  hasUsage(buffer, Usage.storage) &&
  buffer.size % 4 === 0 &&
  buffer.size <= state.gpuDevice.limits.maxStorageBufferBindingSize;
