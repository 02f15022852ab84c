/** Scripts in their own processes, on the same runtime, so that a crash does not end the test run. */

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { runtime } from './harness.js';

export interface ChildResult {
  readonly code: number | null;
  readonly signal: string | null;
  readonly output: string;
}

/** The flags of each runtime that let a script call the collector. */
export const runtimeArgs = {
  node: ['--expose-gc'],
  bun: ['--expose-gc'],
  deno: ['run', '-A', '--v8-flags=--expose-gc'],
};

/** The value of the line `RESULT` that a script or a page prints. Throws an error with all that it printed if it has none. */
export function resultOf<T>(output: string): T {
  const result = /^RESULT (.*)$/m.exec(output)?.[1];
  if (result === undefined) throw new Error(output);
  return JSON.parse(result) as T;
}

/** Runs a compiled script next to `from` to its end. */
export function runChild(
  from: string,
  script: string,
  options: { args?: string[]; runtimeArgs?: string[]; env?: Record<string, string | undefined>; cwd?: string } = {},
): ChildResult {
  const path = fileURLToPath(new URL(script, from));
  const args = [...(options.runtimeArgs ?? runtimeArgs[runtime]), path, ...(options.args ?? [])];
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    timeout: 600_000, // a child that hangs; on a busy machine with a sanitizer some take minutes
  });
  return { code: status, signal, output: `${stdout}${stderr}` };
}
