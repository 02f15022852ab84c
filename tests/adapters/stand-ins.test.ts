/** Adapters of objects that exist only in a browser, or on no test machine: tested with objects that have the same properties. */

import 'dlpack/webgpu';
import { BufferError, type DLPackProducer, Tensor } from 'dlpack';
import {
  adapt,
  fromAudioBuffer,
  fromLiteRT,
  fromMLTensor,
  fromTvmjs,
  fromVideoFrame,
  toAudioBuffer,
  toImageData,
  toLiteRT,
  toMLTensor,
  toNdarray,
  toTvmjs,
  toVideoFrame,
} from 'dlpack/adapters';
import { equal, rejects, throws } from '../assert.js';
import { collect, collectUntil, test } from '../harness.js';

test('LiteRT.js: host memory is copied, GPU memory shared and deleted exactly once', () => {
  let deleted = 0;
  const make = (accelerator: string) => ({
    type: { dtype: 'float32', layout: { dimensions: new Int32Array([1, 2]) } },
    accelerator,
    toTypedArray: () => new Float32Array([1, 2]),
    toGpuBuffer: () => ({ size: 8, usage: 128 }),
    delete: () => void deleted++,
  });
  equal(adapt(make('wasm')).toArray(), [[1, 2]]);
  throws('TypeError', 'Expected a live LiteRT.js Tensor', () => fromLiteRT({ ...make('wasm'), deleted: true }));
  throws('BufferError', 'copies', () => fromLiteRT(make('wasm'), { copy: false }));
  equal(deleted, 0);
  const x = fromLiteRT(make('webgpu'), { gpuDevice: {} });
  class Made {
    args: unknown[];
    constructor(...args: unknown[]) {
      this.args = args;
    }
  }
  const other = { queue: {}, lost: new Promise(() => {}), createBuffer: () => ({}) };
  throws('UnsupportedDeviceError', 'LiteRT.js', () => toLiteRT(x, { Tensor: Made, getWebGpuDevice: () => other }));
  const lent = toLiteRT(x, { Tensor: Made, getWebGpuDevice: () => null });
  equal(lent.args.slice(1, 3), [[1, 2], 'float32']);
  x.dispose();
  equal(deleted, 0, 'the second user still has it');
  (lent.args[4] as () => void)();
  equal(deleted, 1);
  equal(toLiteRT(Tensor.from([1], { dtype: 'int32' }), { Tensor: Made }).args.slice(1), [[1]]);
});

test('WebNN: elements are read and written, a rented buffer is destroyed exactly once', async () => {
  let destroyed = 0;
  const tensor = { dataType: 'float32', shape: [2], destroy() {} };
  const written: ArrayBufferView[] = [];
  const context = {
    readTensor: async () => new Float32Array([1, 2]).buffer,
    createTensor: async (descriptor: object) => ({ ...tensor, ...descriptor }),
    writeTensor: (_: object, data: ArrayBufferView) => void written.push(data),
    exportToGPU: async () => ({ size: 8, usage: 128, destroy: () => void destroyed++ }),
  };
  equal((await fromMLTensor(tensor, { context })).toArray(), [1, 2]);
  await rejects('BufferError', 'WebNN copies', fromMLTensor(tensor, { context, copy: false }));
  const rented = await fromMLTensor(tensor, { context, gpuDevice: {} });
  equal([rented.device.split(':')[0], destroyed], ['webgpu', 0]);
  rented.dispose();
  rented.dispose();
  equal(destroyed, 1);
  const made = await toMLTensor(Tensor.from([3, 4], { dtype: 'float32' }), context);
  equal([made.shape, [...(written[0] as Float32Array)]], [[2], [3, 4]]);
  throws('TypeError', 'await fromMLTensor', () => adapt(tensor));
  const large = { ...tensor, shape: [3] };
  await rejects('LayoutError', '12 bytes', fromMLTensor(large, { context, gpuDevice: {} }));
  equal(destroyed, 2, 'an error ends the rent');
  const failing = {
    ...context,
    createTensor: async () => ({ ...tensor, destroy: () => void destroyed++ }),
    writeTensor: () => {
      throw new BufferError('refused');
    },
  };
  await rejects('BufferError', 'refused', toMLTensor(Tensor.from([3, 4], { dtype: 'float32' }), failing));
  equal(destroyed, 3, 'an error destroys the new tensor');
});

test('tvmjs: bytes are copied in both directions', () => {
  const make = (shape: number[], dtype: string) => {
    let bytes = new Uint8Array(0);
    return {
      shape,
      dtype,
      isView: false,
      toRawBytes: () => bytes.slice(),
      copyFromRawBytes: (data: Uint8Array) => {
        bytes = data.slice();
      },
    };
  };
  const tvm = { empty: make, cpu: () => 'cpu' };
  const x = Tensor.from([[1, 2]], { dtype: 'int64' });
  const lent = toTvmjs(
    x,
    tvm as never as { empty(s: never, d: never, c: string): ReturnType<typeof make>; cpu(): string },
  );
  equal(adapt(lent).toArray(), [[1n, 2n]]);
  throws('BufferError', 'tvmjs copies', () => fromTvmjs(lent, { copy: false }));
  throws('UnsupportedDTypeError', 'handle', () => fromTvmjs(make([1], 'handle')));
});

test('images and audio: shapes, copies and errors', async () => {
  const pixels = new Uint8ClampedArray(8);
  const image = { data: pixels, width: 2, height: 1, colorSpace: 'srgb' };
  const x = adapt(image);
  pixels[5] = 9;
  equal([x.shape, x.dtype, x.get(0, 1, 1)], [[1, 2, 4], 'uint8', 9]);
  class Made {
    readonly data: Uint8ClampedArray;
    constructor(data: Uint8ClampedArray, _width: number, _height: number) {
      this.data = data;
    }
  }
  const back = toImageData(x, Made);
  back.data[5] = 11;
  equal(x.get(0, 1, 1), 11);
  throws('LayoutError', 'four channels', () => toImageData(Tensor.zeros([1, 1, 3], 'uint8'), Made));

  const frame = {
    visibleRect: { width: 1, height: 2 },
    allocationSize: () => 8,
    copyTo: async (target: Uint8Array) => void target.fill(3),
  };
  equal((await fromVideoFrame(frame)).toArray(), [[[3, 3, 3, 3]], [[3, 3, 3, 3]]]);
  throws('TypeError', 'await fromVideoFrame', () => adapt(frame));
  await rejects('BufferError', 'closed', fromVideoFrame({ ...frame, visibleRect: null }));
  await rejects('BufferError', 'copied', fromVideoFrame(frame, { copy: false }));
  const init: object[] = [];
  class Frame {
    constructor(_data: Uint8Array, options: object) {
      init.push(options);
    }
  }
  toVideoFrame(Tensor.zeros([2, 1, 4], 'uint8'), Frame, { timestamp: 5 });
  equal(init, [{ format: 'RGBA', codedWidth: 1, codedHeight: 2, timestamp: 5 }]);

  class Audio {
    readonly channels: Float32Array[];
    readonly numberOfChannels: number;
    readonly length: number;
    constructor({ numberOfChannels, length }: { numberOfChannels: number; length: number }) {
      this.channels = Array.from({ length: numberOfChannels }, () => new Float32Array(length));
      this.numberOfChannels = numberOfChannels;
      this.length = length;
    }
    getChannelData = (channel: number) => this.channels[channel] as Float32Array;
  }
  const audio = toAudioBuffer(
    Tensor.from(
      [
        [1, 2],
        [3, 4],
      ],
      { dtype: 'float32' },
    ),
    Audio,
    { sampleRate: 48_000 },
  );
  equal(fromAudioBuffer(audio).toArray(), [
    [1, 2],
    [3, 4],
  ]);
  const right = fromAudioBuffer(audio, { channel: 1 });
  right.set(0, 30);
  equal(audio.getChannelData(1)[0], 30, 'one channel is shared');
  throws('BufferError', 'channel', () => fromAudioBuffer(audio, { copy: false }));
  throws('TypeError', 'dlpack/adapters', () => adapt({}));
  for (const more of [{}, { offset: 0 }, { offset: 0, strides: [1], order: 'row-major' }]) {
    const empty = { data: null, shape: [1], stride: [1], ...more };
    throws('TypeError', 'dlpack/adapters', () => adapt(empty));
  }
  const hostile = new Proxy(
    {},
    {
      get: () => {
        throw new Error('a getter of the user');
      },
    },
  );
  throws('TypeError', 'dlpack/adapters', () => adapt(hostile));
});

test('an ImageData keeps the memory of its pixels, which the collector releases after it', async () => {
  let deleted = 0;
  const producer = {
    [Symbol.for('dlpack')]: () => ({
      version: [1, 3],
      flags: 0,
      data: new ArrayBuffer(4),
      byteOffset: 0,
      shape: [1, 1, 4],
      dtype: { code: 1, bits: 8, lanes: 1 },
      device: { type: 1, id: 0 },
      deleter: () => void deleted++,
    }),
  } as never as DLPackProducer;
  class Made {
    readonly data: Uint8ClampedArray;
    constructor(data: Uint8ClampedArray, _width: number, _height: number) {
      this.data = data;
    }
  }
  const images: Made[] = [];
  for (let i = 0; i < 10; i++) images.push(toImageData(producer, Made));
  await collect();
  equal([deleted, images[9]?.data.length], [0, 4]);
  images.length = 0;
  equal(await collectUntil(() => deleted > 0), true);
});

test('memory that a library refuses is released with its tensor', () => {
  const refuse = () => {
    throw new BufferError('refused');
  };
  const litert = { Tensor: class {} };
  const attempts: Record<string, (x: Tensor, turned: Tensor) => unknown> = {
    whole: (x) => toNdarray(x, refuse),
    strided: (_, turned) => toNdarray(turned, refuse),
    twice: (x) => toNdarray(x, () => toNdarray(x, refuse)),
    copy: (x) => toLiteRT(x, litert, { copy: false }),
  };
  for (const [name, attempt] of Object.entries(attempts)) {
    const x = Tensor.zeros([2, 3], 'uint8');
    const turned = x.transpose();
    const { data } = x;
    throws('BufferError', name === 'copy' ? 'copies' : 'refused', () => attempt(x, turned));
    turned.dispose();
    equal(x.get(1, 1), 0);
    x.dispose();
    equal(data.length, 0, name);
  }
});
