/** Every kind of image that a page has becomes a tensor on the GPU, and a tensor is drawn on a canvas. */

import '../../webgpu/images.js';
import { Tensor } from 'dlpack';
import { fromVideoFrame } from 'dlpack/adapters';
import { fromImage, toCanvas } from 'dlpack/webgpu';
import { equal, ok, rejects, throws } from '../../assert.js';
import { testWith, unless } from '../../harness.js';
import { newDevice, noAdapter, type TestDevice, uncaptured } from '../../webgpu/device.js';
import { checkImage, pixelsOf } from '../../webgpu/images.js';

const found = await newDevice();
const missing = found === null ? noAdapter : false;
const device = found as TestDevice;
const isFirefox = navigator.userAgent.includes('Firefox');
const videoMissing =
  unless(!isFirefox, 'Firefox 153 neither imports videos into WebGPU nor copies them to a texture') || missing;
const image = pixelsOf(24, 16);
const data = new ImageData(image.data as Uint8ClampedArray<ArrayBuffer>, image.width, image.height);

function canvasOf<T extends HTMLCanvasElement | OffscreenCanvas>(canvas: T): T {
  canvas.width = image.width;
  canvas.height = image.height;
  (canvas.getContext('2d') as CanvasRenderingContext2D).putImageData(data, 0, 0);
  return canvas;
}

async function elementOf(): Promise<HTMLImageElement> {
  const element = new Image();
  element.src = canvasOf(document.createElement('canvas')).toDataURL('image/png');
  await element.decode();
  return element;
}

/** The frame has the same bytes as the image, so no conversion of colours blurs the comparison. */
const frameOf = () =>
  new VideoFrame(image.data as Uint8ClampedArray<ArrayBuffer>, {
    format: 'RGBA',
    codedWidth: image.width,
    codedHeight: image.height,
    timestamp: 0,
  });

const options = { dtype: 'float16', height: 10, width: 14, mean: [0.4, 0.5, 0.6], std: 0.25 } as const;

testWith(missing, 'ImageData, ImageBitmap, canvases and elements', async () => {
  const sources = {
    ImageData: data,
    ImageBitmap: await createImageBitmap(data),
    canvas: canvasOf(document.createElement('canvas')),
    OffscreenCanvas: canvasOf(new OffscreenCanvas(1, 1)),
    image: await elementOf(),
  };
  for (const [name, source] of Object.entries(sources)) {
    await checkImage(fromImage(source, { ...options, device }), image, options, name);
    await checkImage(fromImage(source, { dtype: 'uint8', device }), image, { dtype: 'uint8' }, `${name}, as it is`);
  }
});

/** Every way of pixels and memory to the host, or from there, and every pass and copy on the GPU. */
const watched = [
  'VideoFrame.copyTo',
  'CanvasRenderingContext2D.getImageData',
  'OffscreenCanvasRenderingContext2D.getImageData',
  'GPUBuffer.mapAsync',
  'GPUBuffer.getMappedRange',
  'GPUQueue.writeBuffer',
  'GPUQueue.writeTexture',
  'GPUCommandEncoder.beginComputePass',
  'GPUCommandEncoder.beginRenderPass',
  'GPUCommandEncoder.clearBuffer',
  'GPUCommandEncoder.copyBufferToBuffer',
  'GPUCommandEncoder.copyBufferToTexture',
  'GPUCommandEncoder.copyTextureToBuffer',
  'GPUCommandEncoder.copyTextureToTexture',
];

/** Runs a function to its end, and returns which of the watched functions it called. */
async function callsOf(run: () => unknown): Promise<string[]> {
  const called: string[] = [];
  const restore = watched.map((path) => {
    const [name, method] = path.split('.') as [string, string];
    const { prototype } = (globalThis as never as Record<string, { prototype: Record<string, unknown> }>)[name] ?? {};
    if (prototype === undefined) return () => {};
    const own = prototype[method] as (...args: unknown[]) => unknown;
    prototype[method] = function (this: unknown, ...args: unknown[]) {
      called.push(path);
      return own.apply(this, args);
    };
    return () => {
      prototype[method] = own;
    };
  });
  try {
    await run();
  } finally {
    for (const undo of restore) undo();
  }
  return called;
}

/** What an image on the GPU needs: a pass of a shader, with neither a copy of memory nor the host. */
const onePass = ['GPUCommandEncoder.beginComputePass'];

testWith(missing, 'what is on the GPU is never read on the host, and needs one pass', async () => {
  const canvas = canvasOf(document.createElement('canvas'));
  const offscreen = canvasOf(new OffscreenCanvas(1, 1));
  for (const context of [canvas.getContext('2d'), offscreen.getContext('2d')] as const) {
    const name = context?.constructor.name;
    equal(await callsOf(() => context?.getImageData(0, 0, 1, 1)), [`${name}.getImageData`]);
  }
  const sources = {
    ImageBitmap: await createImageBitmap(data),
    canvas,
    OffscreenCanvas: offscreen,
    image: await elementOf(),
  };
  for (const [name, source] of Object.entries(sources)) {
    equal(await callsOf(() => fromImage(source, { ...options, device }).dispose()), onePass, name);
  }
  const x = fromImage(canvas, { ...options, device });
  const back = await callsOf(() => x.toAsync('cpu'));
  equal([...new Set(back)].slice(0, 2), ['GPUCommandEncoder.copyBufferToBuffer', 'GPUBuffer.mapAsync'], 'a copy shows');
  x.dispose();
});

testWith(missing, 'an ImageData is written to the GPU once', async () => {
  const calls = await callsOf(() => fromImage(data, { ...options, device }).dispose());
  equal(calls, ['GPUQueue.writeTexture', ...onePass]);
});

testWith(videoMissing, 'a frame of a video is never read on the host, and needs one pass', async () => {
  const frame = frameOf();
  equal(await callsOf(() => fromImage(frame, { ...options, device }).dispose()), onePass);
  const adapted = await callsOf(async () => (await fromVideoFrame(frame, { ...options, device })).dispose());
  equal(adapted, onePass, 'fromVideoFrame');
  const read = await callsOf(async () => (await fromVideoFrame(frame)).dispose());
  equal(read.includes('VideoFrame.copyTo'), true, 'without a device the host reads it');
  frame.close();
});

testWith(videoMissing, 'a VideoFrame, which may be closed at once, and a closed one is refused', async () => {
  const frame = frameOf();
  const x = fromImage(frame, { ...options, device });
  const y = await fromVideoFrame(frame, { ...options, device });
  frame.close();
  await checkImage(x, image, options, 'VideoFrame');
  await checkImage(y, image, options, 'fromVideoFrame');
  throws('BufferError', 'it is closed', () => fromImage(frame, { device }));
  await rejects('BufferError', 'close', fromVideoFrame(frame, { device }));
});

testWith(videoMissing, 'a video element', async () => {
  const canvas = document.createElement('canvas');
  canvas.width = 32;
  canvas.height = 32;
  const context = canvas.getContext('2d') as CanvasRenderingContext2D;
  const video = document.createElement('video');
  throws('BufferError', 'requestVideoFrameCallback', () => fromImage(video, { device }));
  video.muted = true;
  video.srcObject = canvas.captureStream();
  // A stream has a frame only when the canvas changes.
  const timer = setInterval(() => {
    context.fillStyle = 'rgb(200, 100, 50)';
    context.fillRect(0, 0, 32, 32);
  }, 20);
  try {
    const shown = new Promise((resolve) => video.requestVideoFrameCallback(resolve));
    await video.play();
    await shown;
    const take = () => fromImage(video, { device, dtype: 'uint8', layout: 'HWC', height: 4, width: 4 });
    equal(await callsOf(() => take().dispose()), onePass);
    const colours = [...((await take().toAsync('cpu')).data as Uint8Array)];
    // Videos have fewer bits for colours.
    ok(
      colours.every((value, i) => Math.abs(value - ([200, 100, 50][i % 3] as number)) <= 6),
      colours.join(),
    );
  } finally {
    clearInterval(timer);
    video.srcObject = null;
  }
});

testWith(missing, 'toCanvas draws a tensor, gives the canvas its size, and keeps alpha', async () => {
  const x = fromImage(data, { ...options, device });
  for (const canvas of [document.createElement('canvas'), new OffscreenCanvas(1, 1)]) {
    toCanvas(x, canvas as never, options2);
    equal([canvas.width, canvas.height], [14, 10]);
    // In the same task, because a canvas shows its texture after it.
    const copy = new OffscreenCanvas(14, 10);
    const context = copy.getContext('2d') as OffscreenCanvasRenderingContext2D;
    context.drawImage(canvas, 0, 0);
    const pixels = context.getImageData(0, 0, 14, 10);
    const drawn = Tensor.wrap(pixels.data, { shape: [10, 14, 4], dtype: 'uint8' }).slice(null, null, [0, 3]);
    const { mean: _, std: __, ...same } = options;
    const want = { ...same, dtype: 'uint8', layout: 'HWC' } as const;
    await checkImage(drawn.copy(), image, want, 'drawn');
  }
  const half = Tensor.full([4, 2, 2], 0.5, 'float32').to(device);
  const canvas = document.createElement('canvas');
  toCanvas(half, canvas);
  const context = new OffscreenCanvas(2, 2).getContext('2d') as OffscreenCanvasRenderingContext2D;
  context.drawImage(canvas, 0, 0);
  const [red, , , alpha] = context.getImageData(0, 0, 1, 1).data;
  ok(Math.abs((red as number) - 128) <= 2 && alpha === 128, `${red} ${alpha}`);
  const plain = canvasOf(document.createElement('canvas'));
  throws('BufferError', 'another context', () => toCanvas(half, plain));
  throws('TypeError', 'a canvas', () => toCanvas(half, {} as never));
  x.dispose();
  half.dispose();
});

interface CanvasContext {
  configure(configuration: object): void;
  unconfigure(): void;
}
const { GPUCanvasContext } = globalThis as { GPUCanvasContext?: { prototype: object } };
/** Without this function a browser does not tell how a canvas is configured. */
const isTold = 'getConfiguration' in (GPUCanvasContext?.prototype ?? {});
const untold = missing || (!isTold && 'getConfiguration() of a canvas');

testWith(untold, 'toCanvas notices that the program has configured the canvas again', async () => {
  const other = (await newDevice('other')) as TestDevice;
  const x = Tensor.full([3, 2, 2], 1, 'float32').to(device);
  const canvas = document.createElement('canvas');
  const context = canvas.getContext('webgpu' as never) as unknown as CanvasContext;
  const shown = new OffscreenCanvas(2, 2).getContext('2d') as OffscreenCanvasRenderingContext2D;
  const format = 'rgba8unorm';
  for (const change of [
    () => {},
    () => context.configure({ device: other, format }),
    () => context.configure({ device, format, alphaMode: 'premultiplied' }),
    () => context.configure({ device, format, usage: 1 }), // only a source of copies
    () => context.unconfigure(),
  ]) {
    change();
    toCanvas(x, canvas);
    shown.clearRect(0, 0, 2, 2);
    shown.drawImage(canvas, 0, 0);
    equal([...shown.getImageData(1, 1, 1, 1).data], [255, 255, 255, 255], String(change));
  }
  x.dispose();
  other.destroy();
});

const options2 = { mean: options.mean, std: options.std };

testWith(missing, 'no error reached the device, also from the page', async () => {
  await device.queue.onSubmittedWorkDone();
  equal(uncaptured, []);
});
