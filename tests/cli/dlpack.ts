/** Runs npx dlpack of this tree in a process of its own. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runtimeArgs } from '../child.js';
import { runtime } from '../harness.js';

export const root = fileURLToPath(new URL('../../../', import.meta.url));
const main = join(root, 'dist/cli/main.js');

export function dlpack(args: string[], options: { env?: Record<string, string>; node?: string[]; cwd?: string } = {}) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [...(options.node ?? []), ...runtimeArgs[runtime], main, ...args],
    { cwd: options.cwd ?? root, encoding: 'utf8', env: { ...process.env, ...options.env }, timeout: 600_000 },
  );
  return { status, stdout, stderr };
}
