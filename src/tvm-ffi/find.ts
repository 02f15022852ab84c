/**
 * The places where libtvm_ffi may be. The Python package apache-tvm-ffi contains it, but Python does not run here.
 *
 * @module
 */
import { node } from '../native/node-modules.js';

const { existsSync, readdirSync } = node.fs;
const { join, resolve } = node.path;

const fileName =
  process.platform === 'darwin' ? 'libtvm_ffi.dylib' : process.platform === 'win32' ? 'tvm_ffi.dll' : 'libtvm_ffi.so';

/** A documented place: the file to try there, or the reason why there is no file. */
export type Candidate = { readonly from: string } & ({ readonly path: string } | { readonly missing: string });

/** The places to try, in the order of the guide. A generator, because the last places start a process. */
export function* candidates(explicit?: string): Generator<Candidate> {
  if (explicit !== undefined) {
    yield { path: resolve(explicit), from: 'the given path' };
    return;
  }
  const { TVM_FFI_LIBDIR, VIRTUAL_ENV } = process.env;
  if (TVM_FFI_LIBDIR) yield { path: join(TVM_FFI_LIBDIR, fileName), from: 'TVM_FFI_LIBDIR' };
  else yield { missing: 'the variable is not set', from: 'TVM_FFI_LIBDIR' };
  if (VIRTUAL_ENV) yield* inEnvironment(VIRTUAL_ENV, 'VIRTUAL_ENV');
  else yield { missing: 'the variable is not set', from: 'VIRTUAL_ENV' };
  yield* inEnvironment(resolve('.venv'), '.venv');
  const configured = runConfig();
  if (configured !== null) yield { path: join(configured, fileName), from: 'tvm-ffi-config --libdir' };
  else yield { missing: 'the command is not on the PATH, or failed', from: 'tvm-ffi-config --libdir' };
  yield { path: fileName, from: 'the search path of the loader' };
}

function* inEnvironment(root: string, from: string): Generator<Candidate> {
  const files = filesIn(root);
  for (const path of files) yield { path, from };
  if (files.length === 0) yield { missing: `no Python in ${root} has apache-tvm-ffi`, from };
}

function filesIn(root: string): string[] {
  const libraries = [join(root, 'Lib')];
  try {
    for (const name of readdirSync(join(root, 'lib'))) {
      if (name.startsWith('python')) libraries.push(join(root, 'lib', name));
    }
  } catch {
    // There is no such environment, or it has the Windows layout.
  }
  return libraries.map((folder) => join(folder, 'site-packages', 'tvm_ffi', 'lib', fileName)).filter(existsSync);
}

function runConfig(): string | null {
  const { execFileSync } = node.childProcess;
  try {
    return execFileSync('tvm-ffi-config', ['--libdir'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return null;
  }
}
