/** NumPy in a page, and its array through a shader of WebGPU and back. */

import { fromDLPack } from 'dlpack';
import { attach } from 'dlpack/pyodide';
import { gpuMemoryOf } from 'dlpack/webgpu';
import { equal } from '../../assert.js';
import { test, testWith } from '../../harness.js';
import { grow } from '../../pyodide/cases.js';
import { counterparts } from '../../pyodide/load.js';
import { testNumPy } from '../../pyodide/numpy.js';
import { newDevice, noAdapter } from '../../webgpu/device.js';
import { start } from './load.js';

const pyodide = await start(counterparts.unversioned);
const found = await newDevice();
testNumPy((name, body) => test(name, () => body(pyodide)), false);

testWith(
  found === null ? noAdapter : false,
  'an array of Python goes through a shader, and Python sees the result',
  async () => {
    const device = found as object as GPUDevice;
    attach(pyodide);
    using x = fromDLPack(pyodide.runPython("a = np.full((4, 16), 5, dtype='float32'); a"), { copy: false });
    using there = x.to(device);
    const module = device.createShaderModule({
      code: `@group(0) @binding(0) var<storage, read_write> values: array<f32>;
      @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
        values[id.x] = values[id.x] * 2 + 1;
      }`,
    });
    const pipeline = device.createComputePipeline({ layout: 'auto', compute: { module, entryPoint: 'main' } });
    const resource = { buffer: gpuMemoryOf(there).buffer as GPUBuffer };
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    const layout = pipeline.getBindGroupLayout(0);
    pass.setBindGroup(0, device.createBindGroup({ layout, entries: [{ binding: 0, resource }] }));
    pass.dispatchWorkgroups(1);
    pass.end();
    device.queue.submit([encoder.finish()]);
    const copied = x.copyFromAsync(there);
    grow(pyodide); // while the GPU works
    await copied;
    equal(pyodide.runPython('float(a.sum()) == 11 * 64'), true);
  },
);
