/** The WebGPU tests of the pages, on a GPU: Node with Dawn, over Vulkan. */

import { equal, ok } from '../assert.js';
import { runChild } from '../child.js';
import { testWith } from '../harness.js';
import { libraries, vulkanMissing, withVulkan } from '../webgpu/vulkan.js';

for (const name of ['copies', 'lifetimes']) {
  testWith(vulkanMissing, `WebGPU: ${name}`, () => {
    const { output } = withVulkan((env) =>
      runChild(import.meta.url, '../webgpu/dawn.js', { args: [name, libraries], env }),
    );
    const result = /^RESULT (.*)$/m.exec(output)?.[1] ?? '{}';
    const { passed, failed, skipped } = JSON.parse(result) as Record<string, number>;
    equal([failed, skipped], [0, 0], output);
    ok((passed as number) > 0, output);
  });
}
