/** The same WebGPU tests, and the same libraries, as in a page, on Node with Dawn. The software adapter is Chromium's SwiftShader. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { equal } from '../assert.js';
import { runChild } from '../child.js';
import { testWith } from '../harness.js';
import { libraries } from '../webgpu/vulkan.js';
import { bundleLibraries } from './bundle.js';
import { tools } from './run.js';
import { root } from './server.js';

const folder = tools.softwareAdapter();
const missing = !existsSync(join(root, '.libraries/node_modules/webgpu'))
  ? 'webgpu in .libraries'
  : folder === null
    ? 'SwiftShader of Debian’s chromium package'
    : false;

function runTests(path: string, ...as: string[]): void {
  const env = tools.softwareEnvironment(folder as string);
  const { output } = runChild(import.meta.url, '../webgpu/dawn.js', { args: [path, libraries, ...as], env });
  const result = /^RESULT (.*)$/m.exec(output)?.[1];
  equal(result !== undefined && JSON.parse(result).failed, 0, output);
  if (process.env.VERBOSE) console.log(output);
}

for (const name of ['copies', 'lifetimes']) {
  testWith(missing, `Node with Dawn: ${name}`, () => runTests(name));
}

testWith(missing, 'Node with Dawn: copies by the shaders for a GPU', () => runTests('copies', 'as-gpu'));

for (const name of ['exchange', 'traps']) {
  testWith(missing, `Node with Dawn: onnxruntime-web, TensorFlow.js and jax-js: ${name}`, async () => {
    await bundleLibraries();
    runTests(`../browser/libraries/${name}.page`);
  });
}
