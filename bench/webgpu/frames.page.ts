/**
 * A frame of 1920 × 1080 pixels as a float16 tensor [1, 3, 640, 640] on the GPU: by `fromImage`, and through the host. Each time
 * includes the wait until the GPU has finished. A page has a VideoFrame; Node with Dawn has pixels in host memory.
 */

import { Tensor } from 'dlpack';
import { fromVideoFrame } from 'dlpack/adapters';
import { fromImage } from 'dlpack/webgpu';
import { newDevice, type TestDevice, uncaptured } from '../../tests/webgpu/device.js';
import { finish, mediansInTurns, type PageResult } from './timing.js';

const [width, height, side, samples] = [1920, 1080, 640, 15];
const device = (await newDevice('frames')) as TestDevice & { readonly adapterInfo: PageResult['adapter'] };
const data = new Uint8ClampedArray(width * height * 4).map((_, i) => (i * 37) % 256);
const hasFrames = 'VideoFrame' in globalThis;
const frame = hasFrames
  ? new VideoFrame(data, { format: 'RGBA', codedWidth: width, codedHeight: height, timestamp: 0 })
  : { data, width, height };

async function onGpu(): Promise<void> {
  const planes = fromImage(frame, { device, dtype: 'float16', height: side, width: side });
  const x = planes.reshape([1, 3, side, side]);
  await device.queue.onSubmittedWorkDone();
  for (const tensor of [planes, x]) tensor.dispose();
}

/** The pixels come to the host, a loop takes the nearest ones and normalises them, and the tensor is uploaded. */
async function throughHost(): Promise<void> {
  const pixels = frame instanceof Object && 'copyTo' in frame ? await fromVideoFrame(frame) : null;
  const from = (pixels?.data ?? data) as Uint8Array;
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
  for (const tensor of [pixels, half, x]) tensor?.dispose();
}

const [gpu, host] = await mediansInTurns(samples, [onGpu, throughHost]);
if (uncaptured.length > 0) throw new Error(uncaptured.join('\n'));
const rows = { fromImage: gpu as number, 'through the host': host as number };
finish({ rows, adapter: device.adapterInfo, agent: navigator.userAgent });
