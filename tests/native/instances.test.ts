import { equal, ok } from '../assert.js';
import { runChild } from '../child.js';
import { test } from '../harness.js';

test('two evaluations over one addon file do not touch each other', () => {
  const { code, signal, output } = runChild(import.meta.url, './children/two-evaluations.js');
  equal([code, signal], [0, null], output);
  ok(output.includes('apart'), output);
});
