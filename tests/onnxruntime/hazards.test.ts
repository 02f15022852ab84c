import { equal } from '../assert.js';
import { runChild } from '../child.js';
import { testWith } from '../harness.js';
import { names } from './hazards.js';
import { missing } from './library.js';

for (const name of names) {
  testWith(missing, name, () => {
    const { code, signal, output } = runChild(import.meta.url, './hazards.js', { args: [name] });
    equal([code, signal, output.trim()], [0, null, 'done'], output);
  });
}
