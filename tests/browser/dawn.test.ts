/** The same WebGPU tests, and the same libraries, as in a page, on Node with Dawn. The software adapter is Chromium's SwiftShader. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ok } from '../assert.js';
import { checkPage } from '../conformance/page.js';
import { type Counts, testWith } from '../harness.js';
import { dawnMissing, runDawn } from '../webgpu/run-dawn.js';
import { bundleLibraries, libraries } from './bundle.js';
import { tools } from './run.js';

const folder = tools.softwareAdapter();
const missing = dawnMissing || (folder === null && 'SwiftShader of Debian’s chromium package');

function runTests(path: string): void {
  const { result, output } = runDawn<Counts>(path, tools.softwareEnvironment(folder as string));
  ok(result.failed === 0 && result.passed > 0, output);
  if (process.env.VERBOSE) console.log(output);
}

for (const name of ['conformance', 'copies', 'images', 'lifetimes']) {
  testWith(missing, `Node with Dawn: ${name}`, () => runTests(name));
}

testWith(missing, 'Node with Dawn: npx dlpack conformance', () =>
  checkPage('dlpack-webgpu', 'build/tests/conformance/subjects/webgpu.js', tools.softwareEnvironment(folder as string)),
);

const noTypeGPU = existsSync(join(libraries, 'typegpu')) ? false : 'typegpu in .libraries';
testWith(missing || noTypeGPU, 'Node with Dawn: TypeGPU', () => runTests('typegpu'));

for (const name of ['exchange', 'traps']) {
  testWith(missing, `Node with Dawn: onnxruntime-web, TensorFlow.js and jax-js: ${name}`, async () => {
    await bundleLibraries();
    runTests(`../browser/libraries/${name}.page`);
  });
}
