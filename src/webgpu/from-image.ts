/** Images as tensors on a GPUDevice, in one pass that never reaches the host. */

import { callLibrary } from '../adapters/adapter.js';
import type { FromImageOptions, ImageDType } from '../adapters/image-options.js';
import { checkOptions, type OptionNames } from '../base/options.js';
import { parseDevice } from '../device.js';
import { ArgumentTypeError, BufferError, checkCount } from '../errors.js';
import type { GpuStorage } from '../storage/storage.js';
import { Tensor } from '../tensor.js';
import { descriptorOf } from '../view.js';
import { type DeviceState, stateOfDevice } from './device-state.js';
import { normalisation, oneOf } from './image-options.js';
import { imageShader, type Target } from './image-shader.js';
import { type Picture, pictureOf } from './image-source.js';

const names: OptionNames<FromImageOptions> = {
  device: true,
  dtype: true,
  layout: true,
  height: true,
  width: true,
  fit: true,
  channels: true,
  mean: true,
  std: true,
};

/**
 * Draws the pixels of an image into a tensor of shape `[3, height, width]` on a GPUDevice: of a `VideoFrame`, an
 * `ImageBitmap`, a canvas, a video or image element, an `ImageData`, or a `GPUTexture` of the device. The caller may
 * close or change the image at once.
 *
 * @param source - The image.
 * @param options - The device, and how the image becomes elements: dtype, order of the axes, size, fit, channels,
 *   `mean` and `std`.
 * @returns A new tensor on the device. It shares no memory with the image.
 * @throws ArgumentTypeError or ArgumentValueError for anything but an image, a GPUDevice, and options that fit
 *   together.
 * @throws BufferError for an image without pixels, a texture of another kind, and a result that is larger than the
 *   device allows.
 * @throws OutOfMemoryError if there is not enough memory, DeviceLostError for a lost device, and ForeignError if WebGPU
 *   fails.
 * @example
 * ```ts fragment: needs a page with WebGPU
 * import { fromImage } from 'dlpack/webgpu';
 * const x = fromImage(video, { device, dtype: 'float16', height: 640, width: 640 }); // [3, 640, 640]
 * ```
 */
export function fromImage<D extends ImageDType = 'float32'>(source: object, options: FromImageOptions<D>): Tensor<D> {
  const example = "{ device, dtype: 'float16', height: 640, width: 640 }";
  if (options === undefined) throw new ArgumentTypeError('options', `an object such as ${example}`, options);
  checkOptions<FromImageOptions>(options, names, example);
  const { device, dtype = 'float32' as D, layout = 'CHW', fit = 'fill', channels = 3 } = options;
  const info = parseDevice(device);
  if (info.kind !== 'webgpu') throw new ArgumentTypeError('device', 'a GPUDevice', device);
  oneOf(dtype as ImageDType, ['float32', 'float16', 'uint8'], 'dtype');
  oneOf(channels, [3, 4], 'channels');
  if (dtype === 'uint8' && (options.mean ?? options.std) !== undefined) {
    throw new ArgumentTypeError('dtype', "'float32' or 'float16' with mean and std", dtype);
  }
  const isPlanes = oneOf(layout, ['CHW', 'HWC'], 'layout') === 'CHW';
  const linear = normalisation(options);
  oneOf(fit, ['fill', 'contain', 'cover'], 'fit');
  const state = stateOfDevice(info);
  const picture = callLibrary('WebGPU', () => pictureOf(state, source));
  const { height = picture.height, width = picture.width } = options;
  for (const [count, name] of [
    [height, 'height'],
    [width, 'width'],
  ] as const) {
    checkCount(count, name);
    if (count === 0) throw new ArgumentTypeError(name, 'a positive integer', count);
  }
  const target: Target = { dtype, channels, height, width, isPlanes, fit, linear };
  const shape = isPlanes ? [channels, height, width] : [height, width, channels];
  const tensor = Tensor.empty(shape, dtype, { device: info.name }) as Tensor<D>;
  try {
    callLibrary('WebGPU', () => dispatch(state, picture, target, descriptorOf(tensor).storage as GpuStorage));
    return tensor;
  } catch (error) {
    tensor.dispose();
    throw error;
  }
}

/** Invocations of a workgroup, which every device allows. */
const GROUP = 64;

function dispatch(state: DeviceState, { type, resource }: Picture, target: Target, { gpuBuffer }: GpuStorage): void {
  const { gpuDevice } = state;
  const { maxStorageBufferBindingSize: most, maxComputeWorkgroupsPerDimension: widest } = gpuDevice.limits;
  if (gpuBuffer.size > most) {
    throw new BufferError(
      `Expected an image of at most ${most} bytes but the tensor has ${gpuBuffer.size}; ` +
        'request the device with requiredLimits: { maxStorageBufferBindingSize }, or a smaller height and width',
    );
  }
  const { code, threads } = imageShader(target, type, GROUP);
  const pipeline = state.pipeline(code);
  const entries = [
    { binding: 0, resource },
    { binding: 1, resource: { buffer: gpuBuffer } },
  ];
  const encoder = gpuDevice.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  pass.setBindGroup(0, gpuDevice.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }));
  const groups = Math.ceil(threads / GROUP);
  const rows = Math.ceil(groups / widest);
  pass.dispatchWorkgroups(Math.ceil(groups / rows), rows);
  pass.end();
  gpuDevice.queue.submit([encoder.finish()]);
}
