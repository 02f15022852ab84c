/**
 * Where libtvm_ffi may be. The Python package apache-tvm-ffi carries it; no Python runs here.
 *
 * @module
 */

import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';

const fileName =
  process.platform === 'darwin' ? 'libtvm_ffi.dylib' : process.platform === 'win32' ? 'tvm_ffi.dll' : 'libtvm_ffi.so';

/** A place to look at, and why. */
export interface Candidate {
  readonly path: string;
  readonly from: string;
}

/** Files to try, in order. Lazy: the last ones cost a process. */
export function* candidates(explicit?: string): Generator<Candidate> {
  if (explicit !== undefined) {
    yield { path: resolve(explicit), from: 'the given path' };
    return;
  }
  const { TVM_FFI_LIBDIR, VIRTUAL_ENV } = process.env;
  if (TVM_FFI_LIBDIR) yield { path: join(TVM_FFI_LIBDIR, fileName), from: 'TVM_FFI_LIBDIR' };
  if (VIRTUAL_ENV) yield* inEnvironment(VIRTUAL_ENV, 'VIRTUAL_ENV');
  yield* inEnvironment(resolve('.venv'), '.venv');
  const configured = runConfig();
  if (configured !== null) yield { path: join(configured, fileName), from: 'tvm-ffi-config --libdir' };
  yield { path: fileName, from: 'the search path of the loader' };
}

function* inEnvironment(root: string, from: string): Generator<Candidate> {
  const libraries = [join(root, 'Lib')];
  try {
    for (const name of readdirSync(join(root, 'lib'))) {
      if (name.startsWith('python')) libraries.push(join(root, 'lib', name));
    }
  } catch {
    // No such environment, or one laid out as on Windows.
  }
  for (const folder of libraries) {
    const path = join(folder, 'site-packages', 'tvm_ffi', 'lib', fileName);
    if (existsSync(path)) yield { path, from };
  }
}

function runConfig(): string | null {
  try {
    return execFileSync('tvm-ffi-config', ['--libdir'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return null;
  }
}
