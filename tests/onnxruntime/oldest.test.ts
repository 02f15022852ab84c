/** The oldest version of ONNX Runtime that this package takes. */

import { fileURLToPath } from 'node:url';
import { equal, ok } from '../assert.js';
import { runChild } from '../child.js';
import { testWith } from '../harness.js';
import { findLibrary, missing as newestMissing } from './library.js';

const path = findLibrary('.libraries-oldest');
const missing = path === null ? 'onnxruntime-node 1.20 in .libraries-oldest' : false;

/** Tests that need kernels of newer versions. */
const newer = ['packed elements: int4 by Cast'];

for (const name of ['session', 'errors', 'options']) {
  testWith(missing, `the tests of onnxruntime/${name} pass with version 1.20`, () => {
    const { output } = runChild(import.meta.url, `./${name}.test.js`, { env: { TEST_ONNXRUNTIME: path as string } });
    const failed = [...output.matchAll(/^not ok (.*)$/gm)].map(([, test]) => test as string);
    equal(
      failed.filter((test) => !newer.includes(test)),
      [],
      output,
    );
    ok(/^RESULT .*"skipped":0/m.test(output), output);
  });
}

testWith(missing, 'the version is the one that was asked for', () => {
  const env = { TEST_ONNXRUNTIME: path as string };
  const { output } = runChild(import.meta.url, './version.js', { env });
  ok(/^1\.20\./.test(output), output);
});

/** In a program that onnxruntime-node 1.30 is installed for, and that names version 1.20. */
const both = (name: string) =>
  runChild(import.meta.url, './child.js', {
    args: [name],
    cwd: fileURLToPath(new URL('../../../.libraries', import.meta.url)),
    env: { TEST_ONNXRUNTIME: path as string },
  });

testWith(missing || newestMissing, 'onnxruntime-node loads after the library of another version that was named', () => {
  const { code, signal, output } = both('named');
  equal([code, signal], [0, null], output);
  ok(/^1\.20\.\d+ DLPACK_ONNXRUNTIME$/.test(output.trim()), output);
});

testWith(missing || newestMissing, 'after onnxruntime-node its library is used, whichever one is named', () => {
  const { code, signal, output } = both('second');
  equal([code, signal, output.trim()], [0, null, 'done'], output);
});
