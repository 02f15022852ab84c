/**
 * Programs that forget `shutdown()`, a Dask client or shared memory end cleanly, and signals stay the runtime's.
 * ROUNDS sets how often each program runs.
 */

import { equal } from '../assert.js';
import { runChild } from '../child.js';
import { testWith } from '../harness.js';
import { rayMissing } from './available.js';

const programs: readonly (readonly [what: string, way: string, ended: string])[] = [
  ['ray', 'end', '0: RuntimeError'],
  ['ray', 'exit', '3: RuntimeError'],
  ['ray', 'shutdown', '0: RuntimeError'],
  ['ray', 'term', '7: RuntimeError\nJavaScript'],
  ['ray in place', 'term', '7: RuntimeError\nJavaScript'],
  ['dask', 'end', '0: RuntimeError'],
  ['memory', 'end', '0: RuntimeError'],
];

for (let round = 1; round <= Number(process.env.ROUNDS ?? 1); round++) {
  for (const [what, way, ended] of programs) {
    testWith(rayMissing, `${what}, ${way}, round ${round}`, () => {
      const { code, signal, output } = runChild(import.meta.url, './children/driver.js', { args: [what, way] });
      equal(`${signal ?? code}: ${output.trim()}`, ended);
    });
  }
}
