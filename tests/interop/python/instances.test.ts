/** Two evaluations of the package over one addon file, in one thread: each has its own objects, functions and calls. */

import { equal } from '../../assert.js';
import { runChild } from '../../child.js';
import { testWith } from '../../harness.js';
import { pythonMissing } from './available.js';

testWith(pythonMissing, 'two evaluations of the package use one Python side by side', () => {
  const { code, output } = runChild(import.meta.url, './children/two-instances.js');
  equal(code, 0, output);
  equal(output.trim(), 'ok');
});
