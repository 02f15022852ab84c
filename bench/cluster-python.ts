/** The Python with Ray, for benchmarks of clusters. A benchmark that imports this ends if there is none. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../', import.meta.url));
const venv = join(root, '.venv-cluster');
export const python = join(venv, 'bin/python');
if (!existsSync(python)) {
  console.log('left out: there is no .venv-cluster, which npm run test:cluster makes');
  process.exit(0);
}
export const env = { ...process.env, VIRTUAL_ENV: venv, RAY_USAGE_STATS_ENABLED: '0' };
