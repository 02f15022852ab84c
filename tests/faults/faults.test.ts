/** Some allocations of the addon fail, one at a time. `npm run faults` lets every one of them fail. */

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { equal, ok } from '../assert.js';
import { runChild } from '../child.js';
import { fakeMissing } from '../cuda/fake.js';
import { testWith } from '../harness.js';
import { probe } from '../interop/python/available.js';
import { kernelsMissing } from '../interop/tvm-ffi/peer.js';
import { missing as onnxruntimeMissing } from '../onnxruntime/library.js';

const addon = fileURLToPath(new URL('../../native/faults/dlpack.node', import.meta.url));
const missing = existsSync(addon) ? false : 'build/native/faults/dlpack.node (needs a C++ compiler on Linux)';

/** The step from one failing request to the next, for a few seconds in all. */
const scenarios: readonly (readonly [name: string, every: number, missing: string | false])[] = [
  ['core', 11, missing],
  ['files', 4, missing],
  ['python', 31, missing || probe('numpy').missing],
  ['tvm-ffi', 15, missing || kernelsMissing],
  ['cuda', 9, missing || fakeMissing],
  ['onnxruntime', 7, missing || onnxruntimeMissing],
];

for (const [name, every, needed] of scenarios) {
  testWith(needed, `${name}: an allocation that fails is a typed error and leaves nothing behind`, () => {
    const { code, signal, output } = runChild(import.meta.url, './run.js', {
      args: [name, '--every', String(every)],
      env: { DLPACK_ADDON: addon, DLPACK_QUIET: '1' },
    });
    equal(signal ?? code, 0, output);
    ok(/: [1-9]\d* of [1-9]\d* requests failed, no problem/.test(output), output);
  });
}
