/** The Python executable: which one it is, and running it. */

import type { SpawnSyncReturns } from 'node:child_process';
import { LoadError } from '../../errors.js';
import { node } from '../../native/load/node-modules.js';
import { findProgram, patience } from '../../native/load/program.js';

const { existsSync } = node.fs;
const { join } = node.path;

/** Python installers for Windows do not install python3. */
const onPath = process.platform === 'win32' ? 'python' : 'python3';
const binary = (venv: string) => join(venv, process.platform === 'win32' ? 'Scripts/python.exe' : 'bin/python');

/** True for a folder `.venv`. Some tools write a file of this name, with the name of an environment elsewhere. */
export const hasEnvironment = (): boolean => existsSync('.venv/');

/** The executable that the options name, or that of the environment, or the Python on the PATH. */
export function findExecutable(options: { readonly executable?: string; readonly venv?: string } = {}): string {
  // A .venv without a Python is an error, because another Python would lack its packages.
  const venv = options.venv ?? (process.env.VIRTUAL_ENV || undefined) ?? (hasEnvironment() ? '.venv' : undefined);
  return options.executable ?? (venv === undefined ? onPath : binary(venv));
}

/** What to do about an executable that does not run. */
function suggest(executable: string): string[] {
  const named = 'install Python 3.9 or newer, or name one: python({ executable: "/path/to/python3" })';
  if (executable !== binary('.venv')) return [named];
  // Often one of another system, such as that of the host in a container, or of a Python that is gone.
  return [`delete the folder .venv, or make it anew with ${onPath} -m venv --clear .venv`, named];
}

/** Runs the executable and returns its output. `limit`: how many milliseconds it may take. */
export function runExecutable(executable: string, args: readonly string[], limit = patience): string {
  const program = findProgram(executable);
  let failure: unknown;
  let reason = program === null ? 'no folder of the PATH has it' : '';
  try {
    const child =
      program === null
        ? null
        : node.childProcess.spawnSync(program, args, { encoding: 'utf8', timeout: limit, killSignal: 'SIGKILL' });
    if (child?.status === 0) return child.stdout;
    failure = child?.error;
    if (child !== null) reason = describeEnd(child, limit);
  } catch (error) {
    failure = error; // Node throws when it may not start processes
  }
  const isRefused = reason === '';
  const tried = `${executable}: ${isRefused ? 'this program may not start processes' : reason}`;
  const advice = isRefused
    ? ['allow it: deno run --allow-run, node --permission --allow-child-process']
    : suggest(executable);
  throw new LoadError('Python', [tried], advice, { cause: failure });
}

/** Why a process failed. Empty on Deno, which reports neither an error nor an end, when it may not start processes. */
function describeEnd(child: SpawnSyncReturns<string>, limit: number): string {
  if ((child.error as { code?: string } | undefined)?.code === 'ETIMEDOUT')
    return `no answer in ${limit / 1000} seconds`;
  const end = child.signal ?? child.status ?? null;
  const lastLine = (child.stderr ?? '').trim().split('\n').at(-1);
  return child.error?.message ?? (lastLine || (end === null ? '' : `ended with ${end}`));
}
