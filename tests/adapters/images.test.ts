/** Images whose pixels have another depth or another number of channels, and bytes that are not pixels. */

import { Tensor } from 'dlpack';
import { adapt, fromImageData, fromSharp, type SharpImage, toSharp } from 'dlpack/adapters';
import { equal, throws } from '../assert.js';
import { runtime, testWith } from '../harness.js';
import { load, loadModule, missing } from './libraries.js';

const absent = ['sharp', '@huggingface/transformers'].map(missing).find(Boolean) ?? false;

interface Output {
  toBuffer(options: object): Promise<SharpImage>;
}
type Sharp = (input: Uint8Array, options: object) => Pipeline;
interface Pipeline {
  raw(options?: object): Output;
  png(): Output;
  pipelineColourspace(name: string): Pipeline;
  toColourspace(name: string): Pipeline;
}

const options = { raw: { width: 2, height: 1, channels: 3 } };
const pixels = Uint8Array.of(10, 20, 30, 40, 50, 60);
const values = [
  [
    [10, 20, 30],
    [40, 50, 60],
  ],
];

testWith(absent, 'sharp: the depth of the pixels decides their dtype', async () => {
  const sharp = load<Sharp>('sharp');
  const depths = {
    char: 'int8',
    uchar: 'uint8',
    short: 'int16',
    ushort: 'uint16',
    int: 'int32',
    uint: 'uint32',
    float: 'float32',
    double: 'float64',
  };
  for (const [depth, dtype] of Object.entries(depths)) {
    const image = await sharp(pixels, options).raw({ depth }).toBuffer({ resolveWithObject: true });
    for (const x of [fromSharp(image), adapt(image), fromSharp(image, { dtype: dtype as 'int8' })]) {
      equal([x.dtype, x.toArray()], [dtype, values], depth);
    }
  }
  const complex = await sharp(pixels, options).raw({ depth: 'complex' }).toBuffer({ resolveWithObject: true });
  equal(fromSharp(complex).get(0, 1, 2), { re: 60, im: 0 });
});

testWith(absent, 'sharp: bytes that are not the pixels of the image are refused', async () => {
  const sharp = load<Sharp>('sharp');
  const png = await sharp(pixels, options).png().toBuffer({ resolveWithObject: true });
  throws('LayoutError', 'use raw()', () => fromSharp(png));
  const deep = await sharp(pixels, options).raw({ depth: 'ushort' }).toBuffer({ resolveWithObject: true });
  throws('LayoutError', 'raw uint8 pixels', () => fromSharp(deep, { dtype: 'uint8' }));
  const whole = await sharp(pixels, options).raw({ depth: 'int' }).toBuffer({ resolveWithObject: true });
  throws('LayoutError', 'raw float32 pixels but sharp made int32', () => fromSharp(whole, { dtype: 'float32' }));
  // Versions that do not name the depth
  const { depth, ...info } = deep.info;
  throws('LayoutError', 'pass { dtype }', () => fromSharp({ data: deep.data, info }));
  equal([depth, fromSharp({ data: deep.data, info }, { dtype: 'uint16' }).toArray()], ['ushort', values]);
});

testWith(absent, 'sharp: what the library itself refuses is a typed error with its message', () => {
  const sharp = load<Sharp>('sharp');
  throws('ForeignError', 'sharp failed: Error:', () => toSharp(Tensor.zeros([0, 1, 3], 'uint8'), sharp));
});

testWith(absent, 'sharp: pixels of uint8, uint16 and float32 arrive in sharp', async () => {
  const sharp = load<Sharp>('sharp');
  for (const [dtype, depth] of [
    ['uint8', 'uchar'],
    ['uint16', 'ushort'],
    ['float32', 'float'],
  ] as const) {
    const x = Tensor.from([[[1, 2, dtype === 'uint8' ? 3 : 60_000]]], { dtype });
    const pipeline = toSharp(x, sharp);
    // Without this, sharp reduces pixels of more bits to 8.
    if (dtype !== 'uint8') pipeline.pipelineColourspace('rgb16').toColourspace('rgb16');
    const image = await pipeline.raw({ depth }).toBuffer({ resolveWithObject: true });
    equal([fromSharp(image).dtype, fromSharp(image).toArray()], [dtype, x.toArray()]);
  }
  throws('UnsupportedDTypeError', 'uint8 uint16 float32', () => toSharp(Tensor.zeros([1, 1, 3], 'int64'), sharp));
});

testWith(
  absent,
  'sharp: errors say what to do with a pipeline, bytes alone, planes, and memory that cannot move',
  async () => {
    const sharp = load<Sharp>('sharp');
    const pipeline = sharp(pixels, options);
    const hint = 'use await image.raw().toBuffer({ resolveWithObject: true })';
    const { data, info } = await pipeline.raw().toBuffer({ resolveWithObject: true });
    for (const value of [pipeline, data]) throws('TypeError', hint, () => fromSharp(value as never));
    throws('TypeError', hint, () => adapt(pipeline));
    throws('LayoutError', 'use x.transpose([1, 2, 0])', () => toSharp(Tensor.zeros([3, 8, 9], 'uint8'), sharp));
    throws('LayoutError', 'one to four channels for sharp but received [8, 9, 5]', () =>
      toSharp(Tensor.zeros([8, 9, 5], 'uint8'), sharp),
    );
    const image = { data, info };
    if (runtime === 'deno') return; // there the memory of sharp can move
    throws('BufferError', 'leave out { adopt }, or use { copy: true }', () => fromSharp(image, { adopt: true }));
    equal(fromSharp(image).toArray(), values, 'the image is as before');
  },
);

testWith(absent, 'a RawImage of transformers.js has its own number of channels', async () => {
  interface Transformers {
    RawImage: new (
      data: Uint8ClampedArray,
      width: number,
      height: number,
      channels: 1 | 2 | 3 | 4,
    ) => { data: Uint8ClampedArray; width: number; height: number; channels: 1 | 2 | 3 | 4 };
  }
  const { RawImage } = await loadModule<Transformers>('@huggingface/transformers/dist/transformers.node.mjs');
  for (const channels of [1, 2, 3, 4] as const) {
    const image = new RawImage(
      Uint8ClampedArray.from({ length: 2 * channels }, (_, i) => i),
      2,
      1,
      channels,
    );
    const expected = Tensor.wrap(Uint8Array.from(image.data), { shape: [1, 2, channels] });
    for (const x of [fromImageData(image), adapt(image)]) equal(x.toArray(), expected.toArray());
  }
});
