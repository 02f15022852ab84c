/** Adapters of objects that only a page has: images, video frames and audio. */

import { Tensor } from 'dlpack';
import {
  adapt,
  fromAudioBuffer,
  fromImageData,
  fromVideoFrame,
  toAudioBuffer,
  toImageData,
  toVideoFrame,
} from 'dlpack/adapters';
import { equal, ok, throws } from '../../assert.js';
import { test } from '../../harness.js';

interface Image {
  readonly data: Uint8ClampedArray;
  readonly width: number;
  readonly height: number;
}
const page = globalThis as unknown as {
  ImageData: new (width: number, height: number) => Image;
  OffscreenCanvas: new (
    width: number,
    height: number,
  ) => {
    getContext(kind: '2d'): {
      putImageData(image: Image, x: number, y: number): void;
      getImageData(...box: number[]): Image;
    };
  };
};

test('ImageData: shared in both directions, and drawn', () => {
  const image = new page.ImageData(2, 1);
  const x = adapt(image);
  equal([x.shape, x.dtype], [[1, 2, 4], 'uint8']);
  image.data[5] = 9;
  equal(x.get(0, 1, 1), 9);
  const made = toImageData(Tensor.from([255, 0, 0, 255], { dtype: 'uint8', shape: [1, 1, 4] }), ImageData);
  equal([made.width, made.height], [1, 1]);
  const context = new page.OffscreenCanvas(1, 1).getContext('2d');
  context.putImageData(made, 0, 0);
  equal(fromImageData(context.getImageData(0, 0, 1, 1)).toArray(), [[[255, 0, 0, 255]]]);
  made.data[1] = 7;
  const y = fromImageData(made);
  made.data[1] = 8;
  equal(y.get(0, 0, 1), 8);
});

test('ImageData: shared memory is copied, and what the page refuses is a typed error', () => {
  throws('ForeignError', 'ImageData failed: ', () => toImageData(Tensor.zeros([0, 1, 4], 'uint8'), ImageData));
  if (!('SharedArrayBuffer' in globalThis)) return; // a page has it only when it is isolated from others
  const shared = Tensor.wrap(new Uint8Array(new SharedArrayBuffer(4)), { shape: [1, 1, 4] }).fill(3);
  const image = toImageData(shared, ImageData);
  shared.set(0, 0, 0, 9);
  equal([...image.data], [3, 3, 3, 3]);
  throws('BufferError', 'SharedArrayBuffer', () => toImageData(shared, ImageData, { copy: false }));
});

// Other browsers do not convert the format of a frame.
if (/Chrom/.test(navigator.userAgent)) {
  test('VideoFrame: pixels arrive as they were, in both directions', async () => {
    const pixels = Tensor.from(
      Array.from({ length: 16 }, (_, i) => (i % 4 === 3 ? 255 : i * 10)),
      {
        dtype: 'uint8',
        shape: [2, 2, 4],
      },
    );
    const frame = toVideoFrame(pixels, VideoFrame, { timestamp: 0 });
    equal((await fromVideoFrame(frame)).toArray(), pixels.toArray());
    throws('TypeError', 'await fromVideoFrame', () => adapt(frame));
    frame.close();
    throws('LayoutError', 'four channels', () =>
      toVideoFrame(Tensor.zeros([1, 1, 4, 2], 'uint8'), VideoFrame, { timestamp: 0 }),
    );
    throws('ForeignError', 'VideoFrame failed: ', () =>
      toVideoFrame(Tensor.zeros([0, 1, 4], 'uint8'), VideoFrame, { timestamp: 0 }),
    );
    throws('ForeignError', 'timestamp', () => toVideoFrame(pixels, VideoFrame, {} as never));
  });
}

test('AudioBuffer: one channel shared, several copied', () => {
  const audio = toAudioBuffer(Tensor.from([[0.5, 1], [0.25, 0]], { dtype: 'float32' }), AudioBuffer, { sampleRate: 48_000 }); // biome-ignore format: a table
  equal(fromAudioBuffer(audio).toArray(), [[0.5, 1], [0.25, 0]]); // biome-ignore format: a table
  const left = fromAudioBuffer(audio, { channel: 0 });
  left.set(0, 0.75);
  equal(audio.getChannelData(0)[0], 0.75);
  ok(adapt(audio).shape[0] === 2);
  for (const channel of [2, -1, 0.5, 'left' as never]) {
    throws('TypeError', 'Expected an integer below 2 for channel', () => fromAudioBuffer(audio, { channel }));
  }
  throws('ForeignError', 'AudioBuffer failed: ', () =>
    toAudioBuffer(Tensor.zeros([1, 2], 'float32'), AudioBuffer, { sampleRate: 0 }),
  );
});

interface Frameable {
  src: string;
  readonly contentDocument: { querySelector(name: string): { textContent: string } | null } | null;
  remove(): void;
}
const { document } = globalThis as unknown as {
  document: { createElement(name: 'iframe'): Frameable; readonly documentElement: { append(node: Frameable): void } };
};

const pages = [
  ['canvas.html: a page without a bundler, with an import map', 'canvas.html', 'red at (10, 10): 255'],
  ['one-file.html: one file for all subpaths', 'one-file.html', 'red, green, blue: 30, 20, 30'],
] as const;

for (const [title, name, expected] of pages) {
  test(`examples/${title}`, async () => {
    const frame = document.createElement('iframe');
    frame.src = `/examples/${name}`;
    document.documentElement.append(frame);
    const text = () => frame.contentDocument?.querySelector('pre')?.textContent ?? '';
    for (let i = 0; i < 1200 && text() === ''; i++) await new Promise((resolve) => setTimeout(resolve, 50));
    ok(text().includes(expected), `the page shows ${text()}`);
    frame.remove();
  });
}
