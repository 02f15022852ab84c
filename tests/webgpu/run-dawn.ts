/** WebGPU on Node with Dawn, in a process of its own. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { resultOf, runChild } from '../child.js';

/** The `.libraries` folder of the repository, or of the folder that `npm run gpu -- pack` wrote. */
const libraries = fileURLToPath(new URL('../../../.libraries/', import.meta.url));

/** Why Dawn cannot run here, or false. */
export const dawnMissing = existsSync(join(libraries, 'node_modules/webgpu')) ? false : 'webgpu in .libraries';

/** Runs the tests or the benchmark at a path, relative to this file. Returns its result, and all that it printed. */
export function runDawn<T>(path: string, env: Record<string, string>): { result: T; output: string } {
  const args = [path, join(libraries, 'package.json')];
  const { output } = runChild(import.meta.url, './dawn.js', { args, env });
  return { result: resultOf(output), output };
}
