/** The command that starts a JavaScript worker. */

import { LoadError } from '../errors.js';
import { node } from '../native/load/node-modules.js';
import { shipped } from '../native/load/shipped.js';
import { workerFlags } from './flags.js';
import { load } from './helpers.js';

const { resolve } = node.path;

function runtimeFlags(): string[] {
  if ('Deno' in globalThis) return ['run', '-A'];
  return workerFlags(process.execArgv);
}

/** Ray passes the command to a shell. */
function quote(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** The file of `npx dlpack`, whose command ray-worker is the worker. */
function programPath(): string {
  const { folder } = shipped.load();
  if (folder !== null) return resolve(folder, '../dist/cli/main.js');
  throw new LoadError(
    "dlpack's worker for Ray",
    ['a bundler moved this code away from the package'],
    ['leave dlpack out of the bundle, as an external package'],
  );
}

/** Ray starts this command in place of Python, and adds the arguments of its worker program. */
export function workerCommand(): string {
  const { executable } = load().py.import('sys') as { executable: string };
  return [process.execPath, ...runtimeFlags(), programPath(), 'ray-worker', `--python=${executable}`]
    .map(quote)
    .join(' ');
}
