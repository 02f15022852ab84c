/** The programs of docs/how-to/three-and-video.md run in a page with the real libraries. */

import { Tensor } from 'dlpack';
import { equal, ok } from '../../assert.js';
import { marked, unlike } from '../../docs/programs.js';
import { testWith, unless } from '../../harness.js';
import { newDevice, noAdapter, type TestDevice, uncaptured } from '../../webgpu/device.js';

const device = await newDevice();
const missing = device === null ? noAdapter : false;
const videoMissing =
  unless(!navigator.userAgent.includes('Firefox'), 'the WebGPU of Firefox takes no videos') || missing;

const page = await (await fetch('/docs/how-to/three-and-video.md')).text();
const [three = '', video = ''] = [...page.matchAll(/^```js fragment.*\n([\s\S]*?)^```$/gm)].map(
  ([, text]) => text ?? '',
);

async function run(text: string): Promise<unknown> {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/javascript' }));
  try {
    return await import(url);
  } finally {
    URL.revokeObjectURL(url);
  }
}

testWith(missing, 'three.js draws vertices of a tensor, and its picture is a tensor', async () => {
  const { text, prints } = marked(three);
  const lines: string[] = [];
  const print = console.log;
  console.log = (...values: unknown[]) =>
    void lines.push(values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value))).join(' '));
  try {
    await run(text);
  } finally {
    console.log = print;
  }
  equal([prints.length, unlike(prints, lines.join('\n'))], [1, []]);
});

interface Recipes {
  readVideo(file: Blob, device: TestDevice, options: object): AsyncIterable<Tensor>;
  writeVideo(tensors: Iterable<Tensor>, size: readonly [number, number]): Promise<Blob>;
}

testWith(videoMissing, 'mediabunny: tensors become a video file, and its frames tensors', async () => {
  const { readVideo, writeVideo } = (await run(video)) as Recipes;
  const gpuDevice = device as TestDevice;
  const colours = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]; // biome-ignore format: a table
  const frames = colours.map((colour) => {
    const x = Tensor.empty([3, 48, 64], 'float32', { device: gpuDevice });
    colour.forEach((value, channel) => void x.slice(channel).fill(value));
    return x;
  });
  const file = await writeVideo(frames, [64, 48]);
  ok(file.size > 100);
  const found: number[] = [];
  for await (const frame of readVideo(file, gpuDevice, { dtype: 'float16', height: 24, width: 32 })) {
    const middle = (await frame.toAsync('cpu')).slice(null, 12, 16).toArray() as number[];
    equal([frame.shape, frame.dtype], [[3, 24, 32], 'float16']);
    frame.dispose();
    found.push(middle.indexOf(Math.max(...middle)));
    ok(Math.max(...middle) > 0.8, middle.join()); // a codec changes colours a little
  }
  equal(found, [0, 1, 2]);
});

testWith(missing, 'no error that the device reported', () => equal(uncaptured, []));
