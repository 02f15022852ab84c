/** `npx dlpack conformance` in its own process, on the runtime of the tests. */

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { runtimeArgs } from '../child.js';
import { runtime } from '../harness.js';

export const fileOf = (path: string): string => fileURLToPath(new URL(`../../../${path}`, import.meta.url));

export function conformance(args: readonly string[], env: Record<string, string> = {}) {
  const command = [...runtimeArgs[runtime], fileOf('dist/cli/main.js'), 'conformance', ...args];
  const { status, stdout, stderr } = spawnSync(process.execPath, command, {
    encoding: 'utf8',
    timeout: 1_200_000,
    env: { ...process.env, ...env },
  });
  return { status, output: `${stdout}${stderr}` };
}
