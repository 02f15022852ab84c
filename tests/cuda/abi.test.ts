import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { equal, ok } from '../assert.js';
import { testWith } from '../harness.js';

const program = fileURLToPath(new URL('../../native/cuda_abi', import.meta.url));
const missing = existsSync(program) ? false : 'build/native/cuda_abi (needs the cuda.h of requirements/tests.txt)';

testWith(missing, 'our declarations of the driver equal those in cuda.h', () => {
  const { status, stdout } = spawnSync(program, { encoding: 'utf8' });
  ok(/^\d\d functions of CUDA \d+\n$/.test(stdout), stdout);
  equal(status, 0);
});
