/** Copies through a texture, with a software adapter that counts its commands. */

import { type DType, Tensor } from 'dlpack';
import { emptyCache, fromGPUBuffer } from 'dlpack/webgpu';
import { equal, ok } from '../assert.js';
import { test } from '../harness.js';

/** The cores that all tests of this file see, whatever the machine has. */
let cores = 2;
Object.defineProperty(globalThis, 'navigator', {
  value: Object.defineProperty({}, 'hardwareConcurrency', { get: () => cores }),
  configurable: true,
  writable: true,
});

/** Records which commands a copy makes. */
function recorder() {
  const counts = { toTexture: 0, fromTexture: 0, shaders: 0, submits: 0 };
  const programs: string[] = [];
  const dispatches: (readonly number[])[] = [];
  const destroyed: number[] = []; // for each buffer or texture, in the order of their creation
  const resource = () => {
    const index = destroyed.push(0) - 1;
    const destroy = () => {
      destroyed[index] = (destroyed[index] as number) + 1;
    };
    return { destroy };
  };
  const dispatchWorkgroups = (...groups: number[]) => {
    counts.shaders++;
    dispatches.push(groups);
  };
  const pass = { setPipeline() {}, setBindGroup() {}, dispatchWorkgroups, end() {} };
  const encoder = {
    copyBufferToBuffer() {},
    copyBufferToTexture: () => void counts.toTexture++,
    copyTextureToBuffer: () => void counts.fromTexture++,
    beginComputePass: () => pass,
    finish: () => ({}),
  };
  const gpuDevice = {
    adapterInfo: { isFallbackAdapter: true },
    queue: { submit: () => void counts.submits++ },
    lost: new Promise<never>(() => {}),
    limits: {
      maxBufferSize: 2 ** 32,
      maxStorageBufferBindingSize: 2 ** 30,
      maxComputeWorkgroupsPerDimension: 65535,
      maxComputeInvocationsPerWorkgroup: 256,
      maxTextureDimension2D: 8192,
    },
    createBuffer: ({ size, usage }: { size: number; usage: number }) => ({ size, usage, ...resource() }),
    createTexture: resource,
    createCommandEncoder: () => encoder,
    createShaderModule: ({ code }: { code: string }) => void programs.push(code),
    createComputePipeline: () => ({ getBindGroupLayout: () => ({}) }),
    createBindGroup: () => ({}),
  };
  return { gpuDevice, counts, programs, dispatches, destroyed };
}

/** The commands that pack a part of planes of 64 by 64 elements. */
function commandsFor(planes: number) {
  const { gpuDevice, counts } = recorder();
  const whole = Tensor.empty([planes, 64, 64], 'float32', { device: gpuDevice });
  whole.slice(null, [0, 32], [0, 32]).contiguous();
  return counts;
}

test('rows without gaps on one side need one command there', () => {
  equal(commandsFor(4), { toTexture: 8, fromTexture: 4, shaders: 0, submits: 1 });
});

test('rows that do not fit into the width of a texture are copied in several parts', () => {
  const { gpuDevice, counts } = recorder();
  // 64 rows of 129 texels need 8,256 texels side by side, and a texture has 8,192.
  Tensor.empty([1024, 258], 'float32', { device: gpuDevice }).slice(null, [0, 129]).contiguous();
  equal(counts, { toTexture: 64, fromTexture: 2, shaders: 0, submits: 1 });
});

test('a copy with many commands is submitted in parts', () => {
  const counts = commandsFor(100);
  equal(counts, { toTexture: 200, fromTexture: 100, shaders: 0, submits: 3 });
});

test('a copy of more rows than a bounded number of commands can move is made by a shader', () => {
  const few = commandsFor(1024);
  ok(few.shaders === 0 && few.toTexture + few.fromTexture <= 2 ** 14, JSON.stringify(few));
  equal(commandsFor(8192), { toTexture: 0, fromTexture: 0, shaders: 1, submits: 1 });
});

/** The commands and shaders that pack rows of a matrix. All numbers count elements of 4 bytes. */
function packRows(
  first: number,
  row: number,
  step: number,
  change: { isFallbackAdapter?: boolean; usage?: number } = {},
) {
  const { gpuDevice, counts, programs, dispatches } = recorder();
  gpuDevice.adapterInfo.isFallbackAdapter = change.isFallbackAdapter ?? true;
  const shape = [16384, step];
  const whole =
    change.usage === undefined
      ? Tensor.empty(shape, 'float32', { device: gpuDevice })
      : fromGPUBuffer(gpuDevice.createBuffer({ size: 16384 * step * 4, usage: change.usage }), {
          device: gpuDevice,
          dtype: 'float32',
          shape,
        });
  whole.slice(null, [first, first + row]).contiguous();
  return { ...counts, program: programs[0] ?? '', dispatch: dispatches[0] };
}

test('short rows that are multiples of one length apart are moved by a shader in units of that length', () => {
  for (const [first, row, step, words] of [
    [0, 3, 6, 3],
    [5, 5, 10, 5],
    [10, 5, 20, 5],
    [0, 12, 18, 6],
    [0, 8, 16, 8],
    [24, 24, 48, 24],
  ] as const) {
    const { toTexture, shaders, program } = packRows(first, row, step);
    equal([toTexture, shaders], [0, 1], `${row} of ${step} elements:`);
    ok(program.includes(`source: array<array<u32, ${words}>,`), program);
  }
});

test('other rows, rows on a GPU, and rows of buffers that a shader cannot bind are moved in units of a word or through a texture', () => {
  const copied = 4 | 8; // COPY_SRC and COPY_DST
  for (const [first, row, step, change] of [
    [3, 5, 10, {}],
    [0, 5, 11, {}],
    [0, 25, 50, {}],
    [0, 5, 10, { usage: copied }],
  ] as const) {
    const { toTexture, shaders } = packRows(first, row, step, change);
    ok(toTexture > 0 && shaders === 0, `${row} of ${step} elements from ${first} on`);
  }
  const { shaders, program } = packRows(0, 5, 10, { isFallbackAdapter: false });
  equal(shaders, 1);
  ok(program.includes('source: array<u32,') && program.includes('@workgroup_size(256)'), program);
  equal(program.match(/= source\[/g)?.length, 1, 'each invocation moves one word');
});

test('on a processor with eight cores or more, a shader moves rows of up to 2 KiB', () => {
  cores = 8;
  try {
    for (const [first, row, step, element] of [
      [0, 3, 6, 'array<u32, 3>'],
      [0, 25, 50, 'array<u32, 5>'],
      [0, 33, 66, 'array<u32, 11>'],
      [0, 46, 92, 'array<u32, 23>'],
      [0, 65, 66, 'u32'],
      [0, 256, 512, 'array<u32, 16>'],
    ] as const) {
      const { toTexture, shaders, program } = packRows(first, row, step);
      equal([toTexture, shaders], [0, 1], `${row} of ${step} elements:`);
      ok(program.includes(`source: array<${element},`), program);
    }
    ok(packRows(0, 513, 1026).toTexture > 0, 'longer rows');
  } finally {
    cores = 2;
  }
});

test('with many cores, a small copy needs no shader where commands can make it', () => {
  cores = 8;
  try {
    for (const [rows, row, commands] of [
      [8, 300, 0],
      [64, 128, 2],
    ] as const) {
      const { gpuDevice, counts, programs } = recorder();
      Tensor.empty([rows, 1024], 'float32', { device: gpuDevice }).slice(null, [0, row]).contiguous();
      equal([counts.toTexture + counts.fromTexture, programs.length], [commands, 0], `${rows} rows:`);
    }
  } finally {
    cores = 2;
  }
});

test('a large copy whose tiles would reach over the end of an axis is made in parts, without a test of each unit', () => {
  const programsFor = (rows: number, columns: number) => {
    const { gpuDevice, programs } = recorder();
    Tensor.empty([rows, columns * 2 + 1], 'float32', { device: gpuDevice })
      .slice(null, [0, columns * 2, 2])
      .contiguous();
    return programs;
  };
  const isTested = (program: string) => /if \(i\d \+/.test(program);
  equal(programsFor(4096, 65).map(isTested), [false], '65 is five times 13');
  equal(programsFor(4096, 67).map(isTested), [false, true], '67 is a prime number, and the rest is a small copy');
  equal(programsFor(16, 67).map(isTested), [true], 'a small copy');
});

test('an invocation moves two units or more of a large copy, also if only one divides the rows', () => {
  // The words of a unit, and how many units have about 16 words. 131,101 is a prime number.
  for (const [words, count] of [
    [3, 5],
    [5, 3],
    [8, 2],
  ] as const) {
    const { gpuDevice, programs } = recorder();
    Tensor.empty([131_101, 2 * words], 'float32', { device: gpuDevice })
      .slice(null, [0, words])
      .contiguous();
    equal(programs[0]?.match(/= source\[/g)?.length, count, `units of ${words} words:`);
  }
});

test('workgroups are as large as the device allows, and their grid has few that do nothing', () => {
  const { gpuDevice, programs, dispatches } = recorder();
  Object.assign(gpuDevice.limits, { maxComputeWorkgroupsPerDimension: 100, maxComputeInvocationsPerWorkgroup: 128 });
  // 16 elements in each invocation, and 128 invocations in each of 101 workgroups.
  Tensor.empty([101 * 128, 32], 'float32', { device: gpuDevice })
    .slice(null, [null, null, 2])
    .contiguous();
  ok(programs[0]?.includes('@workgroup_size(128)'), programs[0]);
  equal(dispatches, [[51, 2]]);
});

test('on a GPU with workgroups of 256, a transposition goes through shared memory', () => {
  const isShared = (dtype: DType, shape: readonly number[], limits = {}, isFallbackAdapter = false) => {
    const { gpuDevice, programs } = recorder();
    Object.assign(gpuDevice.limits, limits);
    gpuDevice.adapterInfo.isFallbackAdapter = isFallbackAdapter;
    Tensor.empty(shape, dtype, { device: gpuDevice }).transpose().contiguous();
    equal(programs.length, 1);
    return programs[0]?.includes('workgroupBarrier();');
  };
  for (const dtype of ['uint8', 'float16', 'float32', 'int64'] as const) equal(isShared(dtype, [64, 64]), true, dtype);
  equal(isShared('complex128', [64, 64]), false, 'units of 16 bytes');
  equal(isShared('float32', [64, 3]), false, 'a short axis');
  equal(isShared('float16', [63, 64]), false, 'rows that do not fill words');
  equal(isShared('float32', [64, 64], { maxComputeInvocationsPerWorkgroup: 128 }), false, 'small workgroups');
  equal(isShared('float32', [64, 64], {}, true), false, 'a software adapter');
});

test('the texture of a copy serves the next copy of the same layout', () => {
  const { gpuDevice, destroyed } = recorder();
  const make = (...shape: number[]) => Tensor.empty(shape, 'float32', { device: gpuDevice });
  const [whole, target, half] = [make(1024, 256), make(1024, 128), make(512, 128)];
  equal(destroyed.length, 3);
  for (let i = 0; i < 3; i++) target.copyFrom(whole.slice(null, [128]));
  equal(destroyed, [0, 0, 0, 0]);
  half.copyFrom(whole.slice([0, 512], [128])); // needs a smaller texture
  target.copyFrom(whole.slice(null, [0, 128]));
  equal(destroyed, [0, 0, 0, 0, 0]);
  emptyCache(gpuDevice);
  equal(destroyed, [0, 0, 0, 1, 1]);
});

test('new buffers are kept in place of old ones, and a buffer that is larger than all that may be kept is destroyed', () => {
  const { gpuDevice, destroyed } = recorder();
  const make = (mebibytes: number) => Tensor.empty([mebibytes, 2 ** 20], 'uint8', { device: gpuDevice });
  for (const mebibytes of [40, 20, 24, 65]) make(mebibytes).dispose();
  equal(destroyed, [1, 0, 0, 1]);
  make(24).dispose();
  make(40).dispose();
  equal(destroyed, [1, 1, 0, 1, 0]);
});
