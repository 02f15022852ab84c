/** Images as tensors and back, against the same computation on the host. */

import { type DLPackErrorTag, type DType, Tensor } from 'dlpack';
import { emptyCache, liveCounts } from 'dlpack/debug';
import { type FromImageOptions, fromGPUBuffer, fromImage, type ImageDType, toTexture } from 'dlpack/webgpu';
import { equal, ok, throws } from '../assert.js';
import { testWith } from '../harness.js';
import { newDevice, noAdapter, type TestDevice, type TestTexture, TextureUsage, Usage, uncaptured } from './device.js';

const found = await newDevice();
const missing = found === null ? noAdapter : false;
const device = found as TestDevice;

export interface Pixels {
  readonly data: Uint8ClampedArray;
  readonly width: number;
  readonly height: number;
}

/** An image of colours that differ everywhere. */
export function pixelsOf(width: number, height: number): Pixels {
  const data = new Uint8ClampedArray(width * height * 4);
  for (let i = 0; i < data.length; i++) data[i] = i % 4 === 3 ? 255 : (i * 37 + (i >> 5) * 11) % 256;
  return { data, width, height };
}

type Options = Omit<FromImageOptions, 'device'>;

/** The value of each result: pixels in a triangle around the centre, weighted by their distance. */
function sample({ data, width, height }: Pixels, options: Options): number[][][] {
  const { height: rows = height, width: columns = width, fit = 'fill', channels = 3 } = options;
  const ratio = [width / columns, height / rows] as const;
  const one = fit === 'contain' ? Math.max(...ratio) : Math.min(...ratio);
  const [sx, sy] = fit === 'fill' ? ratio : [one, one];
  const weights = (centre: number, scale: number, length: number) => {
    const reach = Math.max(scale, 1);
    return Array.from({ length }, (_, i) => Math.max(0, 1 - Math.abs(i + 0.5 - centre) / reach));
  };
  const centre = (i: number, count: number, scale: number, length: number) =>
    (i + 0.5 - count / 2) * scale + length / 2;
  return Array.from({ length: rows }, (_, y) =>
    Array.from({ length: columns }, (_, x) => {
      const [cx, cy] = [centre(x, columns, sx, width), centre(y, rows, sy, height)];
      if (cx < 0 || cy < 0 || cx > width || cy > height) return [0, 0, 0, 1].slice(0, channels);
      const [across, down] = [weights(cx, sx, width), weights(cy, sy, height)];
      const sum = [0, 0, 0, 0];
      let total = 0;
      down.forEach((wy, j) => {
        if (wy === 0) return;
        across.forEach((wx, i) => {
          total += wx * wy;
          for (let c = 0; c < 4; c++) sum[c] = (sum[c] as number) + wx * wy * (data[(j * width + i) * 4 + c] as number);
        });
      });
      return sum.slice(0, channels).map((value) => value / total / 255);
    }),
  );
}

/** The tensor that `fromImage` should make, on the host. */
export function expected(image: Pixels, options: Options): Tensor<'float64'> {
  const { mean = 0, std = 1, dtype, layout = 'CHW' } = options;
  const of = (value: number | readonly number[], c: number) =>
    typeof value === 'number' ? value : (value[c] as number);
  const values = sample(image, options).map((row) =>
    row.map((pixel) =>
      pixel.map((value, c) => {
        if (dtype === 'uint8') return Math.floor(value * 255 + 0.5);
        return c === 3 ? value : (value - of(mean, c)) / of(std, c);
      }),
    ),
  );
  const tensor = Tensor.from(values, { dtype: 'float64' });
  return layout === 'HWC' ? tensor : tensor.transpose([2, 0, 1]).contiguous();
}

/** Shaders have float32, and a rounding may go either way where the value lies in the middle. */
export const tolerance = (dtype: DType | undefined) =>
  dtype === 'uint8'
    ? { rtol: 0, atol: 1 }
    : { rtol: dtype === 'float16' ? 1e-3 : 1e-5, atol: dtype === 'float16' ? 2e-3 : 2e-5 };

export async function checkImage(made: Tensor, image: Pixels, options: Options, name: string): Promise<void> {
  const host = (await made.toAsync('cpu')).astype('float64');
  const want = expected(image, options);
  equal(host.shape, want.shape, `${name}:`);
  ok(host.allClose(want, tolerance(options.dtype)), `${name}:\n${host}\n${want}`);
  made.dispose();
}

const mean = [0.485, 0.456, 0.406];
const std = [0.229, 0.224, 0.225];
const cases: readonly (readonly [string, number, number, Options])[] = [
  ['as it is', 16, 8, {}],
  ['pixels', 16, 8, { layout: 'HWC' }],
  ['normalised', 16, 8, { mean, std }],
  ['values to 255', 16, 8, { std: 1 / 255 }],
  ['with alpha', 12, 8, { channels: 4, mean, std }],
  ['smaller', 40, 30, { height: 12, width: 16 }],
  ['larger', 6, 5, { height: 12, width: 16, layout: 'HWC' }],
  ['smaller and larger', 50, 4, { height: 12, width: 16 }],
  ['with bars', 40, 20, { height: 16, width: 16, fit: 'contain', mean, std }],
  ['with bars beside it', 10, 40, { height: 16, width: 16, fit: 'contain' }],
  ['without its edges', 40, 20, { height: 16, width: 16, fit: 'cover' }],
  ['odd', 7, 5, {}],
  ['odd, of another dtype', 5, 7, {}],
  ['odd, of the third dtype', 3, 5, { channels: 4 }],
  ['odd and resized', 11, 13, { height: 5, width: 3 }],
  ['one pixel', 1, 1, {}],
  ['one pixel of many', 9, 9, { height: 1, width: 1 }],
];

testWith(missing, 'an image becomes a tensor of each dtype and layout, as on the host', async () => {
  // A new size is a new shader, which a software adapter compiles slowly: two dtypes of each case, in turn.
  for (const [index, [name, width, height, options]] of cases.entries()) {
    const image = pixelsOf(width, height);
    for (const turn of [0, 1]) {
      const dtype = (['float32', 'float16', 'uint8'] as const)[(index + turn) % 3] as ImageDType;
      const layout = options.layout ?? (turn === 0 ? 'CHW' : 'HWC');
      if (dtype === 'uint8' && options.std !== undefined) continue;
      const all = { ...options, dtype, layout } as const;
      await checkImage(fromImage(image, { ...all, device }), image, all, `${name}, ${dtype} ${layout}`);
    }
  }
  equal(liveCounts().gpuBuffers, 0);
});

testWith(missing, 'an image of the same size is exact', async () => {
  const image = pixelsOf(31, 9);
  const x = fromImage(image, { device, dtype: 'uint8', layout: 'HWC', channels: 4 });
  equal((await x.toAsync('cpu')).data, new Uint8Array(image.data));
});

testWith(missing, 'a later image of the same size leaves the tensors of the earlier one alone', async () => {
  const black = { data: new Uint8ClampedArray(8 * 8 * 4), width: 8, height: 8 };
  const image = pixelsOf(8, 8);
  const first = fromImage(image, { device });
  const second = fromImage(black, { device });
  await checkImage(first, image, {}, 'first');
  await checkImage(second, black, {}, 'second');
  emptyCache(device);
  await checkImage(fromImage(image, { device }), image, {}, 'after emptyCache');
});

const newTexture = (width: number, height: number, usage: number, format = 'rgba8unorm'): TestTexture =>
  device.createTexture({ size: [width, height], format, usage });
const multisampled = (): TestTexture =>
  device.createTexture({ size: [4, 4], format: 'rgba8unorm', usage: both, sampleCount: 4 });
const layers = (): TestTexture => device.createTexture({ size: [4, 4, 3], format: 'rgba8unorm', usage: both });
const both = TextureUsage.textureBinding | TextureUsage.renderAttachment;

testWith(missing, 'a tensor is drawn into a texture, and the texture read again', async () => {
  const image = pixelsOf(13, 6);
  const formats = { float32: 'rgba8unorm', float16: 'bgra8unorm', uint8: 'rgba16float' } as const;
  for (const dtype of ['float32', 'float16', 'uint8'] as const) {
    const format = formats[dtype];
    for (const layout of ['CHW', 'HWC'] as const) {
      const norm = dtype === 'uint8' ? {} : { mean, std };
      const x = fromImage(image, { device, dtype, layout, ...norm });
      const texture = newTexture(13, 6, both, format);
      toTexture(x, texture, { layout, ...norm });
      await checkImage(fromImage(texture, { device, dtype: 'uint8' }), image, { dtype: 'uint8' }, `${format} ${dtype}`);
      x.dispose();
      texture.destroy();
    }
  }
});

testWith(missing, 'views, batches of one and grey tensors are drawn', async () => {
  const image = pixelsOf(10, 7);
  const rgba = fromImage(image, { device, dtype: 'float16', channels: 4 });
  const texture = newTexture(10, 7, both);
  const drawn = async (x: Tensor, layout: 'CHW' | 'HWC' = 'CHW') => {
    toTexture(x, texture, { layout });
    return (await fromImage(texture, { device, dtype: 'uint8', layout: 'HWC', channels: 4 }).toAsync('cpu')) as Tensor;
  };
  const source = Tensor.wrap(image.data, { shape: [7, 10, 4], dtype: 'uint8' });
  ok((await drawn(rgba)).equals(source.copy()));
  ok((await drawn(rgba.reshape([1, 4, 7, 10]))).equals(source.copy()));
  ok((await drawn(rgba.transpose([1, 2, 0]), 'HWC')).equals(source.copy()));
  ok((await drawn(rgba.flip(2))).equals(source.flip(1).copy()));
  const green = await drawn(rgba.slice(1));
  for (const c of [0, 1, 2]) ok(green.slice(null, null, c).equals(source.slice(null, null, 1).copy()));
});

testWith(missing, 'a buffer that a shader cannot read is copied', async () => {
  const bytes = new Float32Array([0, 1, 0.2, 0.4]);
  const buffer = device.createBuffer({ size: 16, usage: Usage.copySource | Usage.copyTarget });
  device.queue.writeBuffer(buffer, 0, bytes);
  const x = fromGPUBuffer(buffer, { device, dtype: 'float32', shape: [2, 2] });
  const texture = newTexture(2, 2, both);
  toTexture(x, texture);
  const grey = await fromImage(texture, { device, dtype: 'uint8' }).toAsync('cpu');
  equal(grey.slice(0).toArray(), [[0, 255], [51, 102]]); // biome-ignore format: a table
});

testWith(missing, 'bad arguments get errors that say what to do, and leave no memory', async () => {
  const image = pixelsOf(4, 4);
  const square = Tensor.zeros([4, 4], 'float32', { device });
  const integers = Tensor.zeros([4, 4], 'int32', { device });
  const planes = Tensor.zeros([5, 4, 4], 'float32', { device });
  const before = liveCounts().gpuBuffers;
  const bad: readonly (readonly [DLPackErrorTag, () => unknown, string])[] = [
    ['TypeError', () => fromImage(image, undefined as never), 'an object such as { device'],
    ['TypeError', () => fromImage(image, { device: 'cpu' }), 'a GPUDevice'],
    ['TypeError', () => fromImage(null as never, { device }), 'a VideoFrame, an ImageBitmap'],
    ['TypeError', () => fromImage({}, { device }), 'a VideoFrame, an ImageBitmap'],
    ['BufferError', () => fromImage({ width: 0, height: 0 }, { device }), 'an image with pixels'],
    ['BufferError', () => fromImage({ ...image, width: 5 }, { device }), '80 bytes, but the image has 64'],
    ['TypeError', () => fromImage({ ...image, data: new Uint16Array(64) }, { device }), 'Uint8ClampedArray'],
    ['TypeError', () => fromImage({ ...image, data: new Float32Array(16) }, { device }), 'Tensor.wrap(data'],
    ['TypeError', () => fromImage(image, { device, dtype: 'int8' as never }), "'float32' or 'float16' or 'uint8'"],
    ['TypeError', () => fromImage(image, { device, dtype: 'uint8', mean: 0.5 }), 'with mean and std'],
    ['TypeError', () => fromImage(image, { device, layout: 'NCHW' as never }), "'CHW' or 'HWC'"],
    ['TypeError', () => fromImage(image, { device, fit: 'crop' as never }), "'fill' or 'contain' or 'cover'"],
    ['TypeError', () => fromImage(image, { device, channels: 1 as never }), '3 or 4'],
    ['TypeError', () => fromImage(image, { device, mean: [1, 2] }), 'three numbers'],
    ['ValueError', () => fromImage(image, { device, std: 0 }), 'other than zero'],
    ['TypeError', () => fromImage(image, { device, height: 0 }), 'a positive integer'],
    ['TypeError', () => fromImage(image, { device, heigth: 4 } as never), "did you mean 'height'"],
    ['BufferError', () => fromImage(newTexture(4, 4, TextureUsage.renderAttachment), { device }), 'TEXTURE_BINDING'],
    ['BufferError', () => fromImage(newTexture(4, 4, both, 'rgba8uint'), { device }), "format is 'rgba8uint'"],
    ['BufferError', () => fromImage(newTexture(4, 4, both, 'r32sint'), { device }), "format is 'r32sint'"],
    ['BufferError', () => fromImage(newTexture(4, 4, both, 'depth24plus'), { device }), "format is 'depth24plus'"],
    ['BufferError', () => fromImage(multisampled(), { device }), 'it has 4; resolve it'],
    ['BufferError', () => fromImage(layers(), { device }), 'it has 3 layers'],
    ['BufferError', () => toTexture(square, newTexture(4, 4, both, 'rgba8uint')), "format is 'rgba8uint'"],
    ['BufferError', () => toTexture(square, multisampled()), 'it has 4; resolve it'],
    [
      'UnsupportedDeviceError',
      () => toTexture(Tensor.zeros([4, 4], 'float32'), newTexture(4, 4, both)),
      'x.to(gpuDevice)',
    ],
    ['LayoutError', () => toTexture(square, newTexture(5, 4, both)), '4 rows and 5 columns'],
    ['TypeError', () => toTexture(square, {} as never), 'a GPUTexture'],
    ['UnsupportedDTypeError', () => toTexture(integers, newTexture(4, 4, both)), 'int32'],
    ['LayoutError', () => toTexture(planes, newTexture(4, 4, both)), "layout: 'HWC'"],
    ['BufferError', () => toTexture(square, newTexture(4, 4, TextureUsage.textureBinding)), 'RENDER'],
  ];
  for (const [tag, call, text] of bad) throws(tag, text, call);
  equal(liveCounts().gpuBuffers, before);
});

testWith(missing, 'no error reached the device', async () => {
  await device.queue.onSubmittedWorkDone();
  equal(uncaptured, []);
});
