/** The example page runs unchanged. */

import { equal } from '../../assert.js';
import { testWith } from '../../harness.js';
import { newDevice, noAdapter } from '../../webgpu/device.js';

const missing = (await newDevice()) === null ? noAdapter : false;

testWith(missing, 'examples/pyodide.html', async () => {
  const frame = document.createElement('iframe');
  frame.src = '/examples/pyodide.html?pyodide=/.pyodide/node_modules/pyodide-314/';
  document.documentElement.append(frame);
  const output = () => frame.contentDocument?.getElementById('output')?.textContent ?? 'running ...';
  while (output() === 'running ...') await new Promise((resolve) => setTimeout(resolve, 20));
  equal(output(), 'Python reads red, green and blue in the top right corner: 7 1 255');
  const canvas = frame.contentDocument?.getElementById('after') as HTMLCanvasElement;
  equal([...(canvas.getContext('2d')?.getImageData(127, 0, 1, 1).data ?? [])], [7, 1, 255, 255]);
});
