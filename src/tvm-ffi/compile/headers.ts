/** The C++ headers of TVM-FFI, which the Python package apache-tvm-ffi contains beside the library. */

import type { Hash } from 'node:crypto';
import { LoadError } from '../../errors.js';
import { node } from '../../native/load/node-modules.js';
import { library } from '../native-values.js';
import { checkText } from './arguments.js';
import QUESTION from './headers.py';
import { absoluteParts, runCommand } from './tool.js';

const { existsSync, readdirSync, readFileSync } = node.fs;
const { dirname, join, resolve } = node.path;

const MARK = 'tvm/ffi/c_api.h';
const DLPACK_MARK = 'dlpack/dlpack.h';

/** The folders with the headers: the option, beside the loaded library, or where Python has the package. */
export async function findHeaders(option: string | undefined): Promise<string[]> {
  if (option !== undefined) checkText('headers', option, 'the path of a folder');
  const root = resolve(dirname(library().path), '..');
  const folders =
    option === undefined ? [join(root, 'include'), join(root, '3rdparty/dlpack/include')] : [resolve(option)];
  if (isComplete(folders)) return folders.filter(existsSync);
  if (option === undefined) {
    // Python needs no shared library for this.
    const python = process.platform === 'win32' ? 'python' : 'python3';
    const env = { PYTHONPATH: absoluteParts(process.env.PYTHONPATH ?? '') };
    const { isDone, output } = await runCommand(python, ['-c', QUESTION], { env });
    const found = output.trim().split(/\r?\n/);
    if (isDone && isComplete(found)) return found;
  }
  throw new LoadError(
    'the C++ headers of TVM-FFI',
    folders.map((folder) => join(folder, MARK)),
    ['pip install apache-tvm-ffi', 'or name the folder that contains tvm/ffi and dlpack with compile({ headers })'],
  );
}

function isComplete(folders: readonly string[]): boolean {
  return [MARK, DLPACK_MARK].every((mark) => folders.some((folder) => existsSync(join(folder, mark))));
}

const digests = new Map<string, string>();

/** A digest of all headers, read once, because a process has one copy of the library. */
export function digestHeaders(folders: readonly string[]): string {
  const key = folders.join('\n');
  let digest = digests.get(key);
  if (digest === undefined) {
    const hash = node.crypto.createHash('sha256');
    for (const folder of folders) {
      for (const part of ['tvm', 'dlpack']) addTree(hash, join(folder, part));
    }
    digest = hash.digest('hex');
    digests.set(key, digest);
  }
  return digest;
}

function addTree(hash: Hash, folder: string): void {
  if (!existsSync(folder)) return;
  const entries = readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) addTree(hash, path);
    else hash.update(`${entry.name}\0`).update(readFileSync(path));
  }
}
