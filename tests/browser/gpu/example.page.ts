/** The example page runs unchanged. */

import { equal } from '../../assert.js';
import { testWith } from '../../harness.js';
import { newDevice, noAdapter } from '../../webgpu/device.js';

const missing = (await newDevice()) === null ? noAdapter : false;

testWith(missing, 'examples/webgpu.html', async () => {
  const frame = document.createElement('iframe');
  frame.src = '/examples/webgpu.html';
  document.documentElement.append(frame);
  const output = () => frame.contentDocument?.getElementById('output')?.textContent ?? 'running ...';
  while (output() === 'running ...') await new Promise((resolve) => setTimeout(resolve, 20));
  equal(output(), 'Tensor uint8 [3, 64, 64] webgpu:0\nred, green, blue: 10, 20, 30');
});
