import { equal } from '../assert.js';
import { runChild } from '../child.js';
import { test } from '../harness.js';

/** A few seconds with seeds that never change; `npm run fuzz` takes new ones. */
const runs: readonly (readonly [suite: string, seeds: readonly number[], steps: number])[] = [
  ['core', [3, 11, 12], 20_000],
  ['workers', [1], 10],
];

for (const [suite, seeds, steps] of runs) {
  for (const seed of seeds) {
    test(`${suite} with seed ${seed}`, () => {
      const { code, signal, output } = runChild(import.meta.url, './run.js', {
        args: [suite, '--seed', String(seed), '--steps', String(steps)],
      });
      equal(signal ?? code, 0, output);
      equal(output.includes(`${steps} operations`), true, output);
    });
  }
}
