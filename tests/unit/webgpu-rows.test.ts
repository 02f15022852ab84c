/** Copies through a texture, with a software adapter that counts its commands. */

import { Tensor } from 'dlpack';
import 'dlpack/webgpu';
import { equal, ok } from '../assert.js';
import { test } from '../harness.js';

/** Records which commands a copy makes. */
function recorder() {
  const counts = { toTexture: 0, fromTexture: 0, shaders: 0, submits: 0 };
  const pass = { setPipeline() {}, setBindGroup() {}, dispatchWorkgroups: () => void counts.shaders++, end() {} };
  const encoder = {
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
      maxTextureDimension2D: 8192,
    },
    createBuffer: ({ size, usage }: { size: number; usage: number }) => ({ size, usage, destroy() {} }),
    createTexture: () => ({ destroy() {} }),
    createCommandEncoder: () => encoder,
    createShaderModule: () => ({}),
    createComputePipeline: () => ({ getBindGroupLayout: () => ({}) }),
    createBindGroup: () => ({}),
  };
  return { gpuDevice, counts };
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
