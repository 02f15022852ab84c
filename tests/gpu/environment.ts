/** The machine that runs the GPU suite. */

import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Driver, openDriver } from '../cuda/fake.js';

/** The repository, or the packed folder. */
export const root = fileURLToPath(new URL('../../../', import.meta.url));

/** The Python package tvm_ffi: packed, or of the repository. */
export const tvmFfiFolder = existsSync(join(root, 'tvm_ffi'))
  ? join(root, 'tvm_ffi')
  : join(root, '.venv/lib', readdirSync(join(root, '.venv/lib'))[0] as string, 'site-packages/tvm_ffi');

/** The Python whose torch, cupy and jax the suite uses; scripts/lib/gpu-suite.mjs names it. */
export const pythonExecutable = process.env.DLPACK_PYTHON || 'python3';

/** The functions of the machine's own driver, initialised. */
export function realDriver(): Driver {
  const driver = openDriver('libcuda.so.1');
  driver.must('cuInit', 0);
  return driver;
}
