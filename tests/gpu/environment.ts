/** The machine that runs the GPU suite. */

import { type Driver, openDriver } from '../cuda/fake.js';

/** The Python whose torch, cupy and jax the suite uses; scripts/lib/gpu-suite.mjs names it. */
export const pythonExecutable = process.env.DLPACK_PYTHON || 'python3';

/** The functions of the machine's own driver, initialised. */
export function realDriver(): Driver {
  const driver = openDriver('libcuda.so.1');
  driver.must('cuInit', 0);
  return driver;
}
