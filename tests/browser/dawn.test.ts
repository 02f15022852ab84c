/** The same WebGPU tests, and the same libraries, as in a page, on Node with Dawn. The software adapter is Chromium's SwiftShader. */

import { ok } from '../assert.js';
import { type Counts, testWith } from '../harness.js';
import { dawnMissing, runDawn } from '../webgpu/run-dawn.js';
import { bundleLibraries } from './bundle.js';
import { tools } from './run.js';

const folder = tools.softwareAdapter();
const missing = dawnMissing || (folder === null && 'SwiftShader of Debian’s chromium package');

function runTests(path: string, ...as: string[]): string {
  const { result, output } = runDawn<Counts>(path, tools.softwareEnvironment(folder as string), ...as);
  ok(result.failed === 0 && result.passed > 0, output);
  if (process.env.VERBOSE) console.log(output);
  return output;
}

testWith(missing, 'Node with Dawn: lifetimes', () => void runTests('lifetimes'));

testWith(missing, 'Node with Dawn: copies by the shaders for a GPU', () => {
  const output = runTests('copies', 'as-gpu');
  ok(/^SHARED [1-9]/m.test(output), output);
});

for (const cores of ['few-cores', 'many-cores']) {
  testWith(missing, `Node with Dawn: copies, ${cores}`, () => void runTests('copies', cores));
}

for (const name of ['exchange', 'traps']) {
  testWith(missing, `Node with Dawn: onnxruntime-web, TensorFlow.js and jax-js: ${name}`, async () => {
    await bundleLibraries();
    runTests(`../browser/libraries/${name}.page`);
  });
}
