/**
 * The command that starts a JavaScript worker.
 *
 * @module
 */

import { fileURLToPath } from 'node:url';
import { load } from './helpers.js';

/** Flags of this process that a worker must not have: the code of `-e`, and a debugger's port, which is taken. */
const left = /^(-e|--eval|-p|--print|-pe|--input-type.*|--inspect.*|--watch.*|--test.*)$/;

function runtimeFlags(): string[] {
  if ('Deno' in globalThis) return ['run', '-A'];
  const { execArgv } = process;
  return execArgv.filter((flag, i) => !left.test(flag) && !/^(-e|--eval|-p|--print|-pe)$/.test(execArgv[i - 1] ?? ''));
}

/** Ray passes the command to a shell. */
function quote(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** Ray starts this command in place of Python, and adds the arguments of its worker program. */
export function workerCommand(): string {
  // Both dist/ray and dist/chunks, where this code may be, are beside dist/cli.
  const program = fileURLToPath(new URL('../cli/main.js', import.meta.url));
  const { executable } = load().py.import('sys') as { executable: string };
  return [process.execPath, ...runtimeFlags(), program, 'ray-worker', `--python=${executable}`].map(quote).join(' ');
}
