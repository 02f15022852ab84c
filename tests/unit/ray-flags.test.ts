/** Which flags of a program its Ray workers have. */

import { workerFlags } from '../../src/ray/flags.js';
import { equal } from '../assert.js';
import { test } from '../harness.js';

test('a worker has the flags of the program, but not the program itself', () => {
  equal(workerFlags(['--expose-gc', '-r', './x.cjs', '--import=./y.mjs']), [
    '--expose-gc',
    '-r',
    './x.cjs',
    '--import=./y.mjs',
  ]);
  equal(workerFlags(['--input-type=module', '-e', '-1', '--expose-gc']), ['--expose-gc']);
  equal(workerFlags(['--input-type', 'module', '-pe', 'a=1', '--expose-gc']), ['--expose-gc']);
  equal(workerFlags(['--eval=1', '--expose-gc']), ['--expose-gc']);
  equal(workerFlags(['--inspect=9229', '--watch', '--expose-gc', '--watch-path', 'src']), ['--expose-gc']);
});
