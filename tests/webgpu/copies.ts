/** Copies to, from and inside a GPUDevice: every layout and element size against the same operation on the host. */

import { DLPACK, type DType, fromDLPack, type ManagedTensor, Tensor } from 'dlpack';
import { fromGPUBuffer, gpuMemoryOf } from 'dlpack/webgpu';
import { equal, ok, rejects, throws } from '../assert.js';
import { testWith } from '../harness.js';
import { newDevice, noAdapter, type TestDevice, Usage, uncaptured } from './device.js';

const found = await newDevice();
const missing = found === null ? noAdapter : false;
const device = found as TestDevice;

/** Values 0, 1, 2, ... that every dtype can hold. */
function counting(shape: readonly number[], dtype: DType, first = 0): Tensor {
  const size = shape.reduce((a, b) => a * b, 1);
  const range = dtype.includes('8') && !dtype.includes('x') ? 127 : 2 ** 15;
  return Tensor.from(
    Array.from({ length: size }, (_, i) => (i + first) % range),
    { dtype: 'int32', shape },
  ).astype(dtype);
}

const back = async (tensor: Tensor): Promise<unknown> => {
  const host = await tensor.toAsync('cpu');
  const values = host.toArray();
  host.dispose();
  return values;
};

const dtypes: readonly DType[] = ['uint8', 'int16', 'float32', 'int64'];
const views: readonly (readonly [string, readonly number[], (t: Tensor) => Tensor])[] = [
  ['all', [3, 5], (t) => t],
  ['a row', [4, 8], (t) => t.slice(2)],
  ['an odd row', [4, 7], (t) => t.slice(3)],
  ['rows', [6, 16], (t) => t.slice([1, 5])],
  ['columns', [6, 16], (t) => t.slice(null, [4, 12])],
  ['odd columns', [5, 13], (t) => t.slice(null, [3, 10])],
  ['every second', [5, 13], (t) => t.slice(null, [1, null, 2])],
  ['transposed', [7, 33], (t) => t.transpose()],
  ['transposed, short rows', [3, 40], (t) => t.transpose()],
  ['transposed, many of both', [72, 100], (t) => t.transpose()],
  ['transposed, odd', [35, 67], (t) => t.transpose()],
  ['transposed and reversed', [40, 68], (t) => t.flip().transpose()],
  ['a part, transposed', [80, 90], (t) => t.slice([3, 71], [5, 85]).transpose()],
  ['matrices, transposed', [3, 20, 36], (t) => t.transpose([0, 2, 1])],
  ['reversed', [7, 9], (t) => t.flip()],
  ['broadcast', [1, 6], (t) => t.broadcastTo([4, 6])],
  ['planes of pixels', [4, 6, 3], (t) => t.transpose([2, 0, 1])],
  ['pixels of planes', [3, 4, 5], (t) => t.transpose([1, 2, 0])],
  ['four axes', [2, 3, 4, 5], (t) => t.transpose([3, 1, 0, 2]).slice([1, null], null, [null, null, -1])],
  ['one element', [1], (t) => t],
  ['no axes', [3], (t) => t.slice(1)],
  ['no elements', [0, 3], (t) => t],
];

/** Many rows, at strides and offsets that allow units of 4, 8 and 16 bytes. */
const manyRows: readonly (readonly [string, readonly number[], (t: Tensor) => Tensor])[] = [
  ['256 bytes apart', [70, 64], (t) => t.slice(null, [0, 32])],
  ['at an offset', [70, 64], (t) => t.slice([3, 67], [5, 40])],
  ['516 bytes apart', [1100, 129], (t) => t.slice(null, [1, 129])],
  ['in two halves', [1064, 258], (t) => t.slice(null, [0, 129])],
  ['more than 65,535 units', [9000, 48], (t) => t.slice(null, [0, 36])],
  ['of planes', [3, 40, 96], (t) => t.slice(null, null, [32, 96])],
  ['reversed', [70, 64], (t) => t.flip(0).slice(null, [0, 32])],
];

/** Short rows. */
const shortRows: readonly (readonly [string, readonly number[], (t: Tensor) => Tensor])[] = [
  ['of 12 bytes', [301, 6], (t) => t.slice(null, [3, 6])],
  ['of 20 bytes, from a late row on', [1100, 15], (t) => t.slice([1001, null], [5, 10])],
  ['of 48 bytes, 72 apart', [77, 18], (t) => t.slice(null, [6, 18])],
  ['of 96 bytes', [40, 48], (t) => t.slice(null, [24, 48])],
  ['reversed', [70, 20], (t) => t.flip(0).slice(null, [10, 20])],
  ['of planes', [3, 40, 14], (t) => t.slice(null, null, [7, 14])],
  ['in another order', [9, 11, 6], (t) => t.transpose([1, 0, 2]).slice(null, null, [0, 3])],
  ['the same for all', [1, 10], (t) => t.slice(null, [5, 10]).broadcastTo([50, 5])],
];

testWith(missing, 'short rows: packed, and copied into rows of another tensor', async () => {
  for (const [name, shape, view] of shortRows) {
    const host = counting(shape, 'float32');
    const there = view(host.to(device));
    const expected = view(host).toArray();
    equal(await back(there.contiguous()), expected, `${name}, packed:`);
    const outer = there.shape.slice(0, -1);
    const length = there.shape.at(-1) as number;
    const wide = Tensor.zeros([...outer, 3 * length], 'float32', { device });
    const all = outer.map(() => null);
    const inner = wide.slice(...all, [length, 2 * length]);
    inner.copyFrom(there);
    equal(await back(inner), expected, `${name}, into rows:`);
    for (const first of [0, 2 * length]) {
      const around = (await wide.slice(...all, [first, first + length]).toAsync('cpu')).contiguous();
      ok(
        around.data.every((value) => Number(value) === 0),
        `${name}, around`,
      );
    }
    for (const tensor of [there, wide, inner]) tensor.dispose();
  }
});

testWith(missing, 'tensors joined on the device, from the host to it, and into its memory', async () => {
  for (const dtype of dtypes) {
    const host = counting([3, 5], dtype);
    const parts = [host, host.flip() as Tensor, counting([3, 5], dtype, 9)];
    const there = parts.map((part) => part.to(device));
    for (const join of [Tensor.stack, Tensor.concat] as (typeof Tensor.concat)[]) {
      for (const axis of [0, 1]) {
        const want = join(parts, { axis });
        const out = Tensor.zeros(want.shape, dtype, { device });
        const made = [join(there, { axis }), join(parts, { axis, device }), join(there, { axis, out })];
        for (const tensor of made) {
          equal(await back(tensor), want.toArray(), `${dtype}, axis ${axis}:`);
          tensor.dispose();
        }
      }
    }
    for (const tensor of there) tensor.dispose();
  }
});

testWith(missing, 'full and arange write into memory of the device', async () => {
  const memory = Tensor.zeros([2, 4], 'float32', { device });
  const [first, second] = [memory.slice(0), memory.slice(1)];
  Tensor.full([4], 7, 'float32', { out: first });
  Tensor.arange(4, 'float32', { out: second });
  equal(await back(memory), [
    [7, 7, 7, 7],
    [0, 1, 2, 3],
  ]);
  for (const tensor of [memory, first, second]) tensor.dispose();
});

testWith(missing, 'many rows: packed, and copied into rows of another tensor', async () => {
  for (const [name, shape, view] of manyRows) {
    const host = counting(shape, 'float32');
    const there = view(host.to(device));
    const expected = view(host).toArray();
    equal(await back(there.contiguous()), expected, `${name}, packed:`);
    const wide = Tensor.zeros([...there.shape.slice(0, -1), (there.shape.at(-1) as number) + 7], 'float32', { device });
    const length = there.shape.at(-1) as number;
    const inner = wide.slice(...there.shape.slice(0, -1).map(() => null), [4, 4 + length]);
    inner.copyFrom(there);
    equal(await back(inner), expected, `${name}, into rows:`);
    const around = wide.slice(...there.shape.slice(0, -1).map(() => 0));
    const values = (await back(around)) as number[];
    equal([...values.slice(0, 4), ...values.slice(4 + length)], [0, 0, 0, 0, 0, 0, 0], `${name}, around:`);
    for (const tensor of [there, wide, inner, around]) tensor.dispose();
  }
});

for (const dtype of dtypes) {
  testWith(missing, `${dtype}: every layout is packed and read back`, async () => {
    for (const [name, shape, view] of views) {
      const host = counting(shape, dtype);
      const there = view(host.to(device));
      equal(there.device, 'webgpu:0');
      const packed = there.contiguous();
      equal(packed.isContiguous, true);
      equal(await back(packed), view(host).toArray(), `${name}, packed:`);
      equal(await back(there), view(host).toArray(), `${name}, read back:`);
      for (const t of [packed, there]) t.dispose();
    }
  });

  testWith(missing, `${dtype}: every layout is written, and nothing around it`, async () => {
    for (const [name, shape, view] of views) {
      if (name === 'broadcast') continue;
      const host = counting(shape, dtype);
      const there = host.to(device);
      const target = view(there);
      const source = counting(target.shape, dtype, 60);
      target.copyFrom(source); // from the host
      view(host).copyFrom(source);
      equal(await back(there), host.toArray(), `${name}, from the host:`);
      const other = counting(target.shape, dtype, 30);
      target.copyFrom(other.to(device)); // from the same device
      view(host).copyFrom(other);
      equal(await back(there), host.toArray(), `${name}, from the device:`);
    }
  });
}

testWith(missing, 'every dtype goes to the device and back', async () => {
  for (const dtype of [
    'bool',
    'float16',
    'bfloat16',
    'float8_e4m3fn',
    'float64',
    'complex64',
    'complex128',
    'float32x4',
    'uint8x3',
  ] as const) {
    const host = Tensor.zeros([3, 5], dtype);
    new Uint8Array(host.unsafeData().buffer, host.unsafeData().byteOffset, host.nbytes).forEach((_, i, bytes) => {
      bytes[i] = dtype === 'bool' ? i % 2 : i % 64;
    });
    equal(await back(host.to(device).transpose().contiguous()), host.transpose().toArray(), dtype);
  }
});

testWith(missing, 'types below a byte: packed in order, padded, and read back at any bits', async () => {
  const host = Tensor.from([1, 2, 3, 4, 5, 6, 7], { dtype: 'int4' });
  const there = host.to(device);
  equal(await back(there), [1, 2, 3, 4, 5, 6, 7]);
  equal(await back(there.slice([1, null, 2])), [2, 4, 6]);
  equal(await back(there.copy()), [1, 2, 3, 4, 5, 6, 7]);
  throws('UnsupportedDTypeError', "toAsync('cpu')", () => there.slice([1, null, 2]).copy());
  // Elements that share the last byte keep their values.
  const other = Tensor.from([8, 9, 10], { dtype: 'uint4' });
  for (const source of [other, other.to(there.device)]) {
    for (const at of [0, 4, 8]) {
      const target = Tensor.from([0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3], { dtype: 'uint4' });
      const onDevice = target.to(there.device);
      for (const x of [target, onDevice]) x.slice([at, at + 3]).copyFrom(x === target ? other : source);
      equal(await back(onDevice), target.toArray());
    }
  }
  const padded = Tensor.zeros([5], 'int4', { padded: true });
  padded.copyFrom(Tensor.from([1, -2, 3, -4, 5], { dtype: 'int4' }));
  equal(await back(padded.to(device).slice([null, null, 2]).contiguous()), [1, 3, 5]);
  // Elements of 12 bits, in two bytes each.
  const vectors = Tensor.zeros([3], 'int4x3', { padded: true });
  for (const i of [0, 1, 2]) vectors.set(i, [i, i + 1, i + 2]);
  equal(await back(vectors.to(device).flip().contiguous()), vectors.flip().toArray());
  // The host converts between packed and padded elements, and the device does not.
  const packed = padded.astype('int8').astype('int4');
  for (const [source, target] of [
    [packed, padded],
    [padded, packed],
  ] as const) {
    const wide = Tensor.zeros([20], 'int4', { padded: target.isPadded, device });
    wide.slice([4, 9]).copyFrom(source);
    equal(await back(wide), [0, 0, 0, 0, 1, -2, 3, -4, 5, ...new Array(11).fill(0)]);
    throws('UnsupportedDTypeError', "toAsync('cpu')", () => target.to(device).copyFrom(source.to(device)));
  }
});

testWith(missing, 'fill, zeros and a copy between views of one buffer', async () => {
  const x = Tensor.zeros([3, 4], 'float32', { device });
  x.fill(7);
  equal(await back(x), new Array(3).fill([7, 7, 7, 7]));
  const y = counting([6], 'int32').to(device);
  y.slice([1, null]).copyFrom(y.slice([null, 5]));
  equal(await back(y), [0, 0, 1, 2, 3, 4]);
  const bytes = Tensor.empty([5], 'uint8', { device });
  bytes.fill(3);
  bytes.slice([1, 4]).fill(9);
  equal(await back(bytes), [3, 9, 9, 9, 3]);
});

testWith(missing, 'a copy does not share memory, and a second owner does', async () => {
  const x = counting([4], 'float32').to(device);
  const copy = x.copy();
  const owner = x.contiguous();
  ok(gpuMemoryOf(owner).buffer === gpuMemoryOf(x).buffer && gpuMemoryOf(copy).buffer !== gpuMemoryOf(x).buffer);
  x.fill(9);
  equal(await back(owner), [9, 9, 9, 9]);
  equal(await back(copy), [0, 1, 2, 3]);
});

testWith(missing, 'a read-back has the values at the time of the call, and the tensor may be disposed', async () => {
  const x = counting([3], 'float32').to(device);
  const promise = x.toAsync('cpu');
  x.fill(5);
  x.dispose();
  equal((await promise).toArray(), [0, 1, 2]);
});

testWith(missing, 'a large tensor: more rows than copy commands, long rows', async () => {
  const host = Tensor.from(
    Float32Array.from({ length: 1024 * 1030 }, (_, i) => i),
    { shape: [1024, 1030] },
  );
  const there = host.to(device);
  for (const view of [(t: typeof host) => t.slice(null, [0, 1024]), (t: typeof host) => t.transpose()]) {
    const packed = await view(there).contiguous().toAsync('cpu');
    const expected = view(host).contiguous();
    equal(
      packed.data.findIndex((value, i) => value !== expected.data[i]),
      -1,
    );
    packed.dispose();
  }
  there.dispose();
});

testWith(missing, 'rows at odd strides and offsets, in more workgroups than one dimension has', async () => {
  // The first element, the numbers of elements in a row and from one row to the next, and of rows.
  for (const [first, row, step, rows] of [
    [3, 5, 10, 120_037],
    [5, 5, 10, 120_038],
    [3, 33, 66, 17_037],
    [3, 65, 131, 9_037],
  ] as const) {
    const host = Tensor.from(
      Float32Array.from({ length: rows * step }, (_, i) => i),
      { shape: [rows, step] },
    );
    const view = (t: typeof host) => t.slice([1, null], [first, first + row]);
    const there = host.to(device);
    const packed = await view(there).contiguous().toAsync('cpu');
    const expected = view(host).contiguous();
    equal(
      packed.data.findIndex((value, i) => value !== expected.data[i]),
      -1,
      `${row * 4} bytes, ${step * 4} apart: the first element that differs`,
    );
    equal(packed.size, (rows - 1) * row);
    for (const tensor of [host, there, packed, expected]) tensor.dispose();
  }
});

/** The device with small limits. A device with its own smallest limits would need a large tensor to reach them. */
function withLimits(limits: Record<string, number>): TestDevice {
  const all = { maxBufferSize: 2 ** 28, maxStorageBufferBindingSize: 2 ** 27, ...limits };
  return new Proxy(device, {
    get: (target, name) => {
      if (name === 'limits') return all;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

for (const maxComputeInvocationsPerWorkgroup of [64, 256]) {
  const group = `workgroups of ${maxComputeInvocationsPerWorkgroup}`;

  testWith(missing, `more workgroups than one dimension has, ${group}`, async () => {
    const wide = withLimits({ maxComputeWorkgroupsPerDimension: 3, maxComputeInvocationsPerWorkgroup });
    for (const dtype of ['float32', 'uint8'] as const) {
      const host = counting([300, 70], dtype);
      const there = host.to(wide);
      equal(await back(there.transpose().contiguous()), host.transpose().toArray(), dtype);
      equal(await back(there.slice(null, [0, 70, 2]).contiguous()), host.slice(null, [0, 70, 2]).toArray(), dtype);
    }
  });

  testWith(missing, `a binding smaller than the tensor: the copy is split, ${group}`, async () => {
    const limits = { maxStorageBufferBindingSize: 2048, maxComputeWorkgroupsPerDimension: 2 };
    const small = withLimits({ ...limits, maxComputeInvocationsPerWorkgroup });
    const rows = counting([300, 15], 'float32');
    equal(
      await back(rows.to(small).slice(null, [5, 10]).contiguous()),
      rows.slice(null, [5, 10]).toArray(),
      'short rows',
    );
    for (const dtype of ['float32', 'uint8'] as const) {
      const host = counting([36, 64], dtype);
      const there = host.to(small);
      equal(await back(there.transpose().contiguous()), host.transpose().toArray(), dtype);
      equal(await back(there.slice(null, [1, 40]).contiguous()), host.slice(null, [1, 40]).toArray(), dtype);
    }
    throws('OutOfMemoryError', 'maxBufferSize', () => Tensor.empty([2 ** 28], 'float32', { device: small }));
  });
}

testWith(missing, 'foreign buffers without STORAGE or COPY_SRC usage', async () => {
  const make = (usage: number) => device.createBuffer({ size: 32, usage });
  const described = { device, dtype: 'float32', shape: [2, 4] } as const;
  const onlyCopied = fromGPUBuffer(make(Usage.copySource | Usage.copyTarget), described);
  onlyCopied.copyFrom(counting([2, 4], 'float32'));
  equal(await back(onlyCopied.transpose()), counting([2, 4], 'float32').transpose().toArray());
  const onlyBound = fromGPUBuffer(make(Usage.storage), described);
  onlyBound.copyFrom(counting([2, 4], 'float32').to(device));
  equal(await back(onlyBound), counting([2, 4], 'float32').toArray());
  const neither = fromGPUBuffer(make(Usage.mapRead | Usage.copyTarget), described);
  await rejects('BufferError', 'STORAGE or COPY_SRC', neither.toAsync('cpu'));
});

testWith(
  missing,
  'a foreign buffer that other libraries could not bind or copy is not exported, and its copy is',
  async () => {
    const described = { device, dtype: 'float32', shape: [2] } as const;
    for (const usage of [Usage.storage | Usage.copyTarget, Usage.copySource | Usage.copyTarget]) {
      const tensor = fromGPUBuffer(device.createBuffer({ size: 8, usage }), described);
      throws('BufferError', 'STORAGE and COPY_SRC', () => tensor[DLPACK]());
      const copy = tensor.copy();
      fromDLPack(copy[DLPACK]() as ManagedTensor).dispose();
    }
  },
);

testWith(missing, 'without elements, alignment in a GPUBuffer does not count', () => {
  const data = { gpuBuffer: device.createBuffer({ size: 16, usage: Usage.storage }), gpuDevice: device };
  const managed = { data, byteOffset: 3, shape: [0], strides: [1], device: { type: 15, id: 0 } };
  const rest = { version: [1, 3], flags: 0, dtype: { code: 2, bits: 32, lanes: 1 }, deleter: null };
  equal(fromDLPack({ [DLPACK]: () => ({ ...managed, ...rest }) } as never).size, 0);
});

testWith(missing, 'WebGPU reported no error', async () => {
  await device.queue.onSubmittedWorkDone();
  equal(uncaptured, []);
});

testWith(missing, 'copyFromAsync reads back into host memory that exists', async () => {
  const there = counting([5, 7], 'float32').to(device);
  const host = Tensor.zeros([7, 5], 'float32');
  const { data } = host;
  equal((await host.copyFromAsync(there.transpose())) === host, true);
  equal(host.toArray(), counting([5, 7], 'float32').transpose().toArray());
  equal([data[1], data.buffer === host.data.buffer], [7, true]);
  const part = Tensor.zeros([2, 9], 'uint8');
  const bytes = counting([2, 3], 'uint8', 1).to(device);
  const copied = part.slice(null, [4, 7]).copyFromAsync(bytes);
  bytes.dispose();
  await copied;
  equal(part.toArray(), [[0, 0, 0, 0, 1, 2, 3, 0, 0], [0, 0, 0, 0, 4, 5, 6, 0, 0]]); // biome-ignore format: a table
  await rejects('UnsupportedDTypeError', 'astype', Tensor.zeros([5, 7], 'int8').copyFromAsync(there));
  throws('UnsupportedDeviceError', 'toAsync', () => Tensor.zeros([5, 7], 'float32').copyFrom(there));
});
