/**
 * On Node with Dawn: strided copies against `copyBufferToBuffer` and against a shader that one would write first. There are
 * twenty copies before a wait, because a wait takes longer than a copy.
 */

import { type DType, Tensor } from 'dlpack';
import { gpuMemoryOf } from 'dlpack/webgpu';
import { newDevice, type TestDevice, uncaptured } from '../../tests/webgpu/device.js';
import { finish, leastOf, mediansInTurns, type PageResult } from './timing.js';

interface BenchDevice extends TestDevice {
  readonly adapterInfo: PageResult['adapter'];
  createShaderModule(descriptor: object): object;
  createComputePipeline(descriptor: object): { getBindGroupLayout(index: number): object };
  createBindGroup(descriptor: object): object;
}

const SIZE = 2 ** 28;
const COPIES = 20;
/** How often 16 MiB fit into a copy, and how often the side of a square of 16 MiB. */
const TIMES = SIZE / 2 ** 24;
const SIDE = Math.sqrt(TIMES);
const largest = { maxBufferSize: 4 * SIZE, maxStorageBufferBindingSize: 4 * SIZE };
const device = (await newDevice('bench', { requiredLimits: largest })) as BenchDevice;
const rows: Record<string, number> = {};

/** Runs a copy several times, and waits for the GPU. */
async function repeated(copy: () => void): Promise<void> {
  for (let i = 0; i < COPIES; i++) copy();
  await device.queue.onSubmittedWorkDone();
}

const from = Tensor.zeros([2 * SIZE], 'uint8', { device });
const into = Tensor.zeros([SIZE], 'uint8', { device });

/** The copy without strides, which each layout is compared with. */
function copyBlock(): void {
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(gpuMemoryOf(from).buffer, 0, gpuMemoryOf(into).buffer, 0, SIZE);
  device.queue.submit([encoder.finish()]);
}

/** Shape and strides in a uniform, one element for each invocation. */
const code = `
struct Steps { shape: vec4<u32>, step: vec4<i32> }
@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> result: array<u32>;
@group(0) @binding(2) var<uniform> steps: Steps;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let flat = id.y * groups.x * 64u + id.x;
  var rest = flat;
  var at = 0;
  for (var axis = 3; axis >= 0; axis--) {
    at += i32(rest % steps.shape[axis]) * steps.step[axis];
    rest = rest / steps.shape[axis];
  }
  if (rest == 0u) { result[flat] = source[at]; }
}`;
const module = device.createShaderModule({ code });
const pipeline = device.createComputePipeline({ layout: 'auto', compute: { module, entryPoint: 'main' } });

async function generic(shape: readonly number[], strides: readonly number[]): Promise<number> {
  const uniform = device.createBuffer({ size: 32, usage: 64 | 8 });
  const pad = <T>(values: readonly T[], filler: T) => [...new Array<T>(4 - values.length).fill(filler), ...values];
  device.queue.writeBuffer(uniform, 0, Int32Array.from([...pad(shape, 1), ...pad(strides, 0)]));
  const buffers = [gpuMemoryOf(from).buffer, gpuMemoryOf(into).buffer, uniform];
  const entries = buffers.map((buffer, binding) => ({ binding, resource: { buffer } }));
  const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
  const groups = shape.reduce((a, b) => a * b, 1) / 64;
  const dispatch = () => {
    const encoder = device.createCommandEncoder() as never as {
      beginComputePass(): {
        setPipeline(p: object): void;
        setBindGroup(i: number, g: object): void;
        dispatchWorkgroups(x: number, y: number): void;
        end(): void;
      };
      finish(): object;
    };
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, group);
    pass.dispatchWorkgroups(Math.min(groups, 1024), groups / Math.min(groups, 1024));
    pass.end();
    device.queue.submit([encoder.finish()]);
  };
  const time = await leastOf(5, () => repeated(dispatch));
  uniform.destroy();
  return time / COPIES;
}

/** Copies a view of the source into packed memory. */
async function ours(name: string, dtype: DType, shape: readonly number[], view: (t: Tensor) => Tensor): Promise<void> {
  const bytes = Tensor.empty([1], dtype).nbytes;
  const whole = Tensor.empty(shape, dtype, { device });
  const part = view(whole);
  const target = Tensor.empty(part.shape, dtype, { device });
  const copies = [copyBlock, () => target.copyFrom(part)].map((copy) => () => repeated(copy));
  const [block, time] = (await mediansInTurns(30, copies)) as [number, number];
  rows[name] = time / COPIES;
  rows[`${name}, copyBufferToBuffer`] = (block * part.nbytes) / SIZE / COPIES; // for as many bytes
  if (bytes === 4) rows[`${name}, generic shader`] = await generic(part.shape, part.strides);
  for (const tensor of [part, whole, target]) tensor.dispose();
}

await ours('rows of 8 KiB', 'float32', [2048 * TIMES, 4096], (t) => t.slice(null, [0, 2048]));
await ours('rows of 1 KiB', 'float32', [16384 * TIMES, 512], (t) => t.slice(null, [0, 256]));
await ours('rows of 128 bytes', 'float32', [131072 * TIMES, 64], (t) => t.slice(null, [0, 32]));
// Rows in whole words that no larger unit divides.
for (const [row, stride] of [
  [12, 24],
  [20, 40],
  [36, 72],
  [68, 136],
  [100, 200],
  [132, 264],
  [260, 264],
  [260, 520],
  [260, 524],
  [516, 1032],
  [1028, 2056],
  [4100, 8200],
] as const) {
  const count = Math.floor(SIZE / row / 64) * 64;
  await ours(`rows of ${row} bytes, ${stride} apart`, 'float32', [count, stride / 4], (t) =>
    t.slice(null, [0, row / 4]),
  );
}
await ours('transposed', 'float32', [2048 * SIDE, 2048 * SIDE], (t) => t.transpose());
await ours('every second element', 'float32', [2048 * TIMES, 4096], (t) => t.slice(null, [null, null, 2]));
await ours('pixels to planes', 'float32', [1024 * TIMES, 1365, 3], (t) =>
  t.transpose([2, 0, 1]).slice(null, null, [0, 1344]),
);
await ours('pixels to planes, bytes', 'uint8', [2048 * TIMES, 2730, 3], (t) =>
  t.transpose([2, 0, 1]).slice(null, null, [0, 2728]),
);
await ours('transposed, 8-byte elements', 'int64', [1448 * SIDE, 1448 * SIDE], (t) => t.transpose());
await ours('transposed, 2-byte elements', 'float16', [2896 * SIDE, 2896 * SIDE], (t) => t.transpose());
await ours('transposed, bytes', 'uint8', [4096 * SIDE, 4096 * SIDE], (t) => t.transpose());
if (uncaptured.length > 0) throw new Error(uncaptured[0]);
finish({ rows, adapter: device.adapterInfo, agent: navigator.userAgent });
