/** The example page runs unchanged, with frames of a canvas: image, model and canvas on one GPUDevice. */

import { Tensor } from 'dlpack';
import { ok } from '../../assert.js';
import { testWith } from '../../harness.js';
import { newDevice, noAdapter } from '../../webgpu/device.js';

const missing = (await newDevice()) === null ? noAdapter : false;

testWith(missing, 'examples/camera.html', async () => {
  const frame = document.createElement('iframe');
  frame.src = '/examples/camera.html?source=canvas';
  document.documentElement.append(frame);
  const find = (name: string) => frame.contentDocument?.getElementById(name);
  const output = () => find('output')?.textContent ?? 'running ...';
  while (output() === 'running ...' || /frame 1$/.test(output())) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  ok(/^Tensor float32 \[1, 3, 240, 320\] webgpu:\d+, frame \d+$/.test(output()), output());
  // A canvas keeps what the page has drawn until the end of the frame, so look at each frame until one is there.
  const context = new OffscreenCanvas(320, 240).getContext('2d') as OffscreenCanvasRenderingContext2D;
  const rows = async (): Promise<number[]> => {
    for (;;) {
      context.drawImage(find('edges') as HTMLCanvasElement, 0, 0);
      const { data } = context.getImageData(0, 0, 320, 240);
      const red = Tensor.wrap(data, { shape: [240, 320, 4], dtype: 'uint8' })
        .slice(null, null, 0)
        .toArray() as number[][];
      // Without the border, where the convolution finds an edge to the zeros around the image.
      const bright = red.slice(1, -1).map((row) => row.slice(1, -1).filter((value) => value > 100).length);
      if (bright.some((count) => count > 0)) return bright;
      await new Promise((resolve) => requestAnimationFrame(resolve));
    }
  };
  const bright = await rows();
  // The square has rows 60 to 180. Its first and last rows are edges, of the others only both ends, and no row outside.
  ok(
    [...bright.slice(0, 56), ...bright.slice(184)].every((count) => count === 0),
    bright.join(),
  );
  ok((bright[59] as number) > 100 && (bright[179] as number) > 100, bright.join());
  ok((bright[120] as number) >= 2 && (bright[120] as number) < 10, bright.join());
  frame.remove();
});
