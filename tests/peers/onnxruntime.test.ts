/** The newest ONNX Runtime that PyPI has, which is newer than the newest onnxruntime-node. */

import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { equal, ok } from '../assert.js';
import { runChild } from '../child.js';
import { testWith } from '../harness.js';

const environment = fileURLToPath(new URL('../../../.venv-peers/lib', import.meta.url));

/** The library in the wheel of onnxruntime. */
const path = (existsSync(environment) ? readdirSync(environment) : [])
  .map((version) => `${environment}/${version}/site-packages/onnxruntime/capi`)
  .filter(existsSync)
  .flatMap((folder) => readdirSync(folder).map((file) => `${folder}/${file}`))
  .find((file) => /\/libonnxruntime\.so\.1\.31\.\d+$/.test(file));
const missing = path === undefined ? 'the library of onnxruntime 1.31 in .venv-peers' : false;

for (const name of ['session', 'errors', 'options']) {
  testWith(missing, `the tests of onnxruntime/${name} pass with version 1.31`, () => {
    const script = `../onnxruntime/${name}.test.js`;
    const { code, output } = runChild(import.meta.url, script, { env: { TEST_ONNXRUNTIME: path as string } });
    equal(code, 0, output);
    ok(/^RESULT .*"failed":0,"skipped":0/m.test(output), output);
  });
}

testWith(missing, 'the version is the one that was asked for', () => {
  const env = { TEST_ONNXRUNTIME: path as string };
  const { output } = runChild(import.meta.url, '../onnxruntime/version.js', { env });
  ok(/^1\.31\./.test(output), output);
});
