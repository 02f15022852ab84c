/**
 * Strided copies of WebGPU on a GPU, with Node and Dawn: `npm run bench -- dawn` on a machine with an NVIDIA GPU, or
 * sh .gpu/run.sh after `npm run gpu -- pack` and then ./node build/bench/dawn.bench.js there.
 */

import { existsSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { runDawn } from '../tests/webgpu/run-dawn.js';
import { vulkanMissing, withVulkan } from '../tests/webgpu/vulkan.js';
import { describeMachine } from './machine.js';
import { stridedTable } from './webgpu/strided-table.js';
import type { PageResult } from './webgpu/timing.js';

if (vulkanMissing !== false) {
  console.log(`left out: ${vulkanMissing} is missing here; see docs/design/gpu-tests.md`);
  process.exit(0);
}
const page = withVulkan((env) => runDawn<PageResult>('../../bench/webgpu/strided.page', env).result);

const report = `# WebGPU on a GPU

Date ${new Date().toISOString().slice(0, 10)}; \`npm run bench -- dawn\`; ${page.adapter.device} (${page.adapter.description}),
${describeMachine()};
Node ${process.versions.node} with Dawn over Vulkan.

Strided copies of 256 MiB. The bandwidth is relative to a \`copyBufferToBuffer\` of as many bytes. Both took turns, 30 times with
20 copies before a wait, and the table has the median time of one copy. The generic shader has shape and strides in a uniform and
moves one element of 4 bytes in each invocation, in workgroups of 64. The last columns are the least
bandwidth that this project has set itself, and whether it holds. Here shaders are faster than the driver's own copy.

${stridedTable(page)}
`;
const results = fileURLToPath(new URL('../../bench/results/', import.meta.url));
if (existsSync(results)) writeFileSync(`${results}webgpu-gpu.md`, report);
console.log(report);
