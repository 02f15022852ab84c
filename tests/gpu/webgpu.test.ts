/** The WebGPU tests of the pages, on a GPU: Node with Dawn, over Vulkan. */

import { equal, ok } from '../assert.js';
import { type Counts, testWith } from '../harness.js';
import { runDawn } from '../webgpu/run-dawn.js';
import { vulkanMissing, withVulkan } from '../webgpu/vulkan.js';

for (const name of ['copies', 'lifetimes']) {
  testWith(vulkanMissing, `WebGPU: ${name}`, () => {
    const { result, output } = withVulkan((env) => runDawn<Counts>(name, env));
    equal([result.failed, result.skipped], [0, 0], output);
    ok(result.passed > 0, output);
  });
}
