import { equal, ok } from '../assert.js';
import { runChild } from '../child.js';
import { test } from '../harness.js';

for (const seed of [1, 2]) {
  test(`1500 damaged and forged files, seed ${seed}`, () => {
    const { code, signal, output } = runChild(import.meta.url, './children/fuzz.js', { args: [String(seed), '1500'] });
    equal([code, signal], [0, null], output);
    const { opened, refused } = JSON.parse(output) as { opened: number; refused: number };
    // Both outcomes occur, so the damage is neither always fatal nor always ignored.
    ok(opened > 50 && refused > 500, output);
  });
}
