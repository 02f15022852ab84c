import { equal } from '../assert.js';
import { runChild } from '../child.js';
import { testWith } from '../harness.js';
import { probe } from '../interop/python/available.js';
import { kernelsMissing } from '../interop/tvm-ffi/peer.js';

type Run = readonly [suite: string, seeds: readonly number[], steps: number, missing: string | false];

/** A few seconds with seeds that never change; `npm run fuzz` takes new ones. */
const runs: readonly Run[] = [
  ['core', [3, 11, 12], 20_000, false],
  ['adapters', [1, 2], 5000, false],
  ['workers', [1], 10, probe('numpy').missing || kernelsMissing],
  ['python', [1, 2], 1500, probe('numpy').missing],
  ['tvm-ffi', [1, 2], 2000, kernelsMissing],
];

for (const [suite, seeds, steps, missing] of runs) {
  for (const seed of seeds) {
    testWith(missing, `${suite} with seed ${seed}`, () => {
      const { code, signal, output } = runChild(import.meta.url, './run.js', {
        args: [suite, '--seed', String(seed), '--steps', String(steps)],
      });
      equal(signal ?? code, 0, output);
      equal(output.includes(`${steps} operations`), true, output);
    });
  }
}
