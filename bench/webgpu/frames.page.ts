/**
 * A frame of 1920 × 1080 pixels as a float16 tensor [1, 3, 640, 640] on the GPU: by `fromImage`, and through the host. Each time
 * includes the wait until the GPU has finished. A page has a VideoFrame; Node with Dawn has a GPUTexture, as a decoder
 * leaves a frame on the GPU.
 */

import { Tensor } from 'dlpack';
import { fromVideoFrame } from 'dlpack/adapters';
import { fromImage } from 'dlpack/webgpu';
import { newDevice, type TestDevice, TextureUsage, Usage, uncaptured } from '../../tests/webgpu/device.js';
import { finish, mediansInTurns, type PageResult } from './timing.js';

/** The part of a GPUDevice that copies textures. */
interface TextureDevice extends TestDevice {
  readonly adapterInfo: PageResult['adapter'];
  readonly queue: TestDevice['queue'] & {
    writeTexture(to: object, data: ArrayBufferView, layout: object, size: readonly number[]): void;
  };
  createCommandEncoder(): ReturnType<TestDevice['createCommandEncoder']> & {
    copyTextureToBuffer(from: object, to: object, size: readonly number[]): void;
  };
}

const [width, height, side, samples] = [1920, 1080, 640, 15];
const bytesPerRow = width * 4;
const device = (await newDevice('frames')) as TextureDevice;
const data = new Uint8ClampedArray(width * height * 4).map((_, i) => (i * 37) % 256);
const pixels = { data, width, height };
const frame =
  'VideoFrame' in globalThis
    ? new VideoFrame(data, { format: 'RGBA', codedWidth: width, codedHeight: height, timestamp: 0 })
    : null;

const { textureBinding, copySource, copyTarget } = TextureUsage;
const texture = device.createTexture({
  size: [width, height],
  format: 'rgba8unorm',
  usage: textureBinding | copySource | copyTarget,
});
device.queue.writeTexture({ texture }, data, { bytesPerRow }, [width, height]);
const readable = device.createBuffer({ size: data.byteLength, usage: Usage.mapRead | Usage.copyTarget });

const onGpu = (source: object) => async (): Promise<void> => {
  const planes = fromImage(source, { device, dtype: 'float16', height: side, width: side });
  const x = planes.reshape([1, 3, side, side]);
  await device.queue.onSubmittedWorkDone();
  for (const tensor of [planes, x]) tensor.dispose();
};

/** Calls `use` with the pixels of the frame in host memory. */
async function read(use: (bytes: Uint8Array) => Promise<void>): Promise<void> {
  if (frame !== null) {
    using tensor = await fromVideoFrame(frame); // by copyTo
    await use(tensor.data as Uint8Array);
    return;
  }
  const encoder = device.createCommandEncoder();
  encoder.copyTextureToBuffer({ texture }, { buffer: readable, bytesPerRow }, [width, height]);
  device.queue.submit([encoder.finish()]);
  await readable.mapAsync(1);
  await use(new Uint8Array(readable.getMappedRange()));
  readable.unmap();
}

/** The pixels come to the host, a loop takes the nearest ones and normalises them, and the tensor is uploaded. */
const throughHost = () =>
  read(async (from) => {
    const values = new Float32Array(3 * side * side);
    for (let y = 0; y < side; y++) {
      const row = Math.floor(((y + 0.5) * height) / side) * width;
      for (let x = 0; x < side; x++) {
        const at = (row + Math.floor(((x + 0.5) * width) / side)) * 4;
        for (let c = 0; c < 3; c++) values[(c * side + y) * side + x] = (from[at + c] as number) / 255;
      }
    }
    const half = Tensor.wrap(values, { shape: [1, 3, side, side] }).astype('float16');
    const x = half.to(device);
    await device.queue.onSubmittedWorkDone();
    for (const tensor of [half, x]) tensor.dispose();
  });

const source = frame === null ? 'a GPUTexture' : 'a VideoFrame';
const way = frame === null ? 'copyTextureToBuffer and mapAsync' : 'copyTo';
const actions: Record<string, () => Promise<void>> = {
  [`fromImage of ${source}`]: onGpu(frame ?? texture),
  [`${source} through the host: ${way}, a loop, astype, to(device)`]: throughHost,
  'fromImage of pixels in host memory, as an ImageData has': onGpu(pixels),
};
const times = await mediansInTurns(samples, Object.values(actions));
if (uncaptured.length > 0) throw new Error(uncaptured.join('\n'));
const rows = Object.fromEntries(Object.keys(actions).map((name, i) => [name, times[i] as number]));
finish({ rows, adapter: device.adapterInfo, agent: navigator.userAgent });
