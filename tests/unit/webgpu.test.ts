/** Which commands and shaders copy a tensor, with a GPUDevice that records them. */

import { type DType, type GPUDeviceLike, scope, Tensor } from 'dlpack';
import { emptyCache } from 'dlpack/debug';
import 'dlpack/webgpu';
import { equal, ok } from '../assert.js';
import { test } from '../harness.js';

/** Records which commands a copy makes. */
function recorder() {
  const commands: number[] = []; // the bytes of each
  const programs: string[] = [];
  const dispatches: (readonly number[])[] = [];
  const destroyed: number[] = []; // for each buffer, in the order of their creation
  const bytes = { now: 0, peak: 0 }; // of the buffers that are not destroyed
  const createBuffer = ({ size, usage }: { size: number; usage: number }) => {
    const index = destroyed.push(0) - 1;
    bytes.now += size;
    bytes.peak = Math.max(bytes.peak, bytes.now);
    const destroy = () => {
      bytes.now -= size;
      destroyed[index] = (destroyed[index] as number) + 1;
    };
    return { size, usage, destroy };
  };
  const dispatchWorkgroups = (...groups: number[]) => void dispatches.push(groups);
  const pass = { setPipeline() {}, setBindGroup() {}, dispatchWorkgroups, end() {} };
  const encoder = {
    copyBufferToBuffer: (_from: object, _at: number, _to: object, _into: number, size: number) =>
      void commands.push(size),
    beginComputePass: () => pass,
    finish: () => ({}),
  };
  const gpuDevice = {
    queue: { submit() {}, writeBuffer() {} },
    lost: new Promise<never>(() => {}),
    limits: {
      maxBufferSize: 2 ** 32,
      maxStorageBufferBindingSize: 2 ** 30,
      maxComputeWorkgroupsPerDimension: 65535,
      maxComputeInvocationsPerWorkgroup: 256,
    },
    createBuffer,
    createCommandEncoder: () => encoder,
    createShaderModule: ({ code }: { code: string }) => void programs.push(code),
    createComputePipeline: () => ({ getBindGroupLayout: () => ({}) }),
    createBindGroup: () => ({}),
  };
  return { gpuDevice, commands, programs, dispatches, destroyed, bytes };
}

/** What packs a part of a tensor of this shape. */
function pack(shape: readonly number[], part: (whole: Tensor) => Tensor, dtype: DType = 'float32') {
  const { gpuDevice, ...recorded } = recorder();
  part(Tensor.empty(shape, dtype, { device: gpuDevice })).contiguous();
  return recorded;
}

test('one run of bytes is one command, and a few long rows are a command each', () => {
  equal(pack([8, 512], (t) => t.slice([2, 5]).copy()).commands, [3 * 2048]);
  const long = pack([64, 2048], (t) => t.slice(null, [0, 1024]));
  equal([long.commands, long.programs.length], [new Array(64).fill(4096), 0]);
});

test('more rows, and shorter ones, are copied by one shader', () => {
  for (const [rows, row] of [
    [65, 1024],
    [64, 1020],
    [2, 3],
  ] as const) {
    const { commands, dispatches } = pack([rows, 2 * row], (t) => t.slice(null, [0, row]));
    equal([commands.length, dispatches.length], [0, 1], `${rows} rows of ${row} elements:`);
  }
});

test('an invocation moves one unit: the largest of 4, 8 and 16 bytes that divides rows, starts and steps', () => {
  for (const [first, row, step, type] of [
    [0, 4, 8, 'vec4<u32>'],
    [0, 6, 12, 'vec2<u32>'],
    [2, 4, 8, 'vec2<u32>'],
    [0, 5, 10, 'u32'],
    [1, 4, 8, 'u32'],
  ] as const) {
    const { programs } = pack([1000, step], (t) => t.slice(null, [first, first + row]));
    equal(programs.length, 1);
    ok(programs[0]?.includes(`source: array<${type},`), `${row} of ${step} elements: ${programs[0]}`);
    equal(programs[0]?.match(/= source\[/g)?.length, 1);
  }
});

test('an invocation writes a whole word of small elements, and only bits of a word where it has other owners', () => {
  const shaderOf = (shape: readonly number[], columns: readonly [number, number, number]) =>
    pack(shape, (t) => t.slice(null, columns), 'uint8').programs[0] ?? '';
  equal(shaderOf([40, 40], [0, 32, 2]).match(/result\[.*?\] = /g)?.length, 1);
  ok(/word \|= /.test(shaderOf([40, 40], [0, 30, 2])), 'rows that end inside a word');
  const { gpuDevice, programs } = recorder();
  const target = Tensor.empty([40, 40], 'uint8', { device: gpuDevice });
  target.slice(null, [1, 21]).copyFrom(Tensor.empty([40, 20], 'uint8', { device: gpuDevice }));
  ok(programs[0]?.includes('atomicOr'), programs[0]);
});

test('workgroups are as large as the device allows, and their grid has few that do nothing', () => {
  const { gpuDevice, programs, dispatches } = recorder();
  Object.assign(gpuDevice.limits, { maxComputeWorkgroupsPerDimension: 100, maxComputeInvocationsPerWorkgroup: 128 });
  // One element in each invocation, and 128 invocations in each of 101 workgroups.
  Tensor.empty([101 * 16, 16], 'float32', { device: gpuDevice })
    .slice(null, [null, null, 2])
    .contiguous();
  ok(programs[0]?.includes('@workgroup_size(128)'), programs[0]);
  equal(dispatches, [[51, 2]]);
});

test('with workgroups of 256, a transposition goes through shared memory', () => {
  const isShared = (dtype: DType, shape: readonly number[], limits = {}) => {
    const { gpuDevice, programs } = recorder();
    Object.assign(gpuDevice.limits, limits);
    Tensor.empty(shape, dtype, { device: gpuDevice }).transpose().contiguous();
    equal(programs.length, 1);
    return programs[0]?.includes('workgroupBarrier();');
  };
  for (const dtype of ['uint8', 'float16', 'float32', 'int64'] as const) equal(isShared(dtype, [64, 64]), true, dtype);
  equal(isShared('complex128', [64, 64]), false, 'units of 16 bytes');
  equal(isShared('float32', [64, 3]), false, 'a short axis');
  equal(isShared('float16', [63, 64]), false, 'rows that do not fill words');
  equal(isShared('float32', [64, 64], { maxComputeInvocationsPerWorkgroup: 128 }), false, 'small workgroups');
});

test('new buffers are kept in place of old ones, and a buffer that is larger than all that may be kept is destroyed', () => {
  const { gpuDevice, destroyed } = recorder();
  const make = (mebibytes: number) => Tensor.empty([mebibytes, 2 ** 20], 'uint8', { device: gpuDevice });
  for (const mebibytes of [40, 20, 24, 65]) make(mebibytes).dispose();
  equal(destroyed, [1, 0, 0, 1]);
  make(24).dispose();
  make(40).dispose();
  equal(destroyed, [1, 1, 0, 1, 0]);
  emptyCache(gpuDevice);
  equal(destroyed, [1, 1, 1, 1, 1]);
});

const MiB = 2 ** 20;
const host = Tensor.zeros([1024, 1024], 'uint8');
/** What a program does with each tensor of a loop in one tick. */
const loops: Record<string, (device: GPUDeviceLike, i: number) => void> = {
  empty: (device, i) => Tensor.empty([MiB + 4 * i], 'uint8', { device }).dispose(), // no size twice
  uploaded: (device) => host.to(device).dispose(),
  using: (device) => {
    using x = host.to(device);
    x.fill(1);
  },
  packed: (device) => scope(() => void host.to(device).transpose().contiguous()),
  written: (device) => {
    using x = Tensor.empty([1024, 2048], 'uint8', { device });
    using columns = x.slice(null, [null, null, 2]);
    columns.copyFrom(host);
  },
};

for (const [name, loop] of Object.entries(loops)) {
  test(`the memory of a loop in one tick does not pile up: ${name}`, () => {
    const { gpuDevice, bytes, destroyed } = recorder();
    for (let i = 0; i < 3000; i++) loop(gpuDevice, i);
    ok(bytes.peak < 300 * MiB, `${bytes.peak / MiB} MiB`);
    emptyCache(gpuDevice);
    equal(bytes.now, 0);
    ok(destroyed.every((count) => count === 1));
  });
}
