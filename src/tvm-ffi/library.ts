/**
 * Finds and loads libtvm_ffi, once for the process, and attaches this thread to it. The Python package apache-tvm-ffi
 * contains the library, but Python does not run here.
 */

import { LoadError } from '../errors.js';
import { native } from '../native/load/load.js';
import { node } from '../native/load/node-modules.js';
import { findProgram, patience } from '../native/load/program.js';
import type { FFIBinding } from './binding.js';

const { existsSync, readdirSync } = node.fs;
const { delimiter, isAbsolute, join, resolve } = node.path;

/** The native functions for this thread, undefined before the first call of {@link attach}, after which it is used. */
export let ffi: FFIBinding;

/**
 * Loads libtvm_ffi from `path`, or from the usual places, unless this thread already has it. `onCall` runs the JavaScript
 * function of a {@link CallbackRequest}.
 */
export function attach(onCall: () => void, path?: string): FFIBinding {
  if (ffi !== undefined) return ffi;
  const binding = native();
  const tried: string[] = [];
  for (const { from, files, missing } of places(path)) {
    if (files.length === 0) tried.push(`${from}: ${missing}`);
    for (const file of files) {
      const made = binding.loadTvmFfi(file) ?? binding.attachTvmFfi<FFIBinding>(onCall);
      if (typeof made !== 'string') {
        ffi = made;
        return ffi;
      }
      tried.push(`${from}: ${file}: ${made}`);
    }
  }
  throw new LoadError('libtvm_ffi, the library of TVM-FFI', tried, [
    'install it with "pip install apache-tvm-ffi" into .venv or into the active virtual environment',
    'or name the folder it is in with the environment variable TVM_FFI_LIBDIR, or the file with loadLibrary({ path })',
    'nothing else in this package needs it',
  ]);
}

const fileName =
  process.platform === 'darwin' ? 'libtvm_ffi.dylib' : process.platform === 'win32' ? 'tvm_ffi.dll' : 'libtvm_ffi.so';

/** A documented place: the files to try there, and the reason why there is none. */
interface Place {
  readonly from: string;
  readonly files: readonly string[];
  readonly missing: string;
}

/** The places to try, in the order of the guide. A generator, because a late one starts a process, which has `limit` ms. */
export function* places(given?: string, limit = patience): Generator<Place> {
  if (given !== undefined) {
    yield { from: 'the given path', files: [resolve(given)], missing: '' };
    return;
  }
  const { TVM_FFI_LIBDIR, VIRTUAL_ENV } = process.env;
  const inFolder = (folder: string | null | undefined) => (folder ? [join(folder, fileName)] : []);
  yield { from: 'TVM_FFI_LIBDIR', files: inFolder(TVM_FFI_LIBDIR), missing: 'the variable is not set' };
  if (VIRTUAL_ENV) yield virtualEnvironment(VIRTUAL_ENV, 'VIRTUAL_ENV');
  else yield { from: 'VIRTUAL_ENV', files: [], missing: 'the variable is not set' };
  yield virtualEnvironment(resolve('.venv'), '.venv');
  const missing = `the command is not on the PATH, failed, or gave no answer in ${limit / 1000} seconds`;
  yield { from: 'tvm-ffi-config --libdir', files: inFolder(runConfig(limit)), missing };
  const files = searchedFolders()?.flatMap(inFolder).filter(existsSync) ?? [fileName];
  yield { from: 'the search path of the loader', files, missing: `no folder has ${fileName}` };
}

function virtualEnvironment(root: string, from: string): Place {
  return { from, files: filesIn(root), missing: `no Python in ${root} has apache-tvm-ffi` };
}

/**
 * The folders that the loaders of Windows and macOS search for a name, except the working folder, which both also search.
 * The loader of Linux does not search the working folder, so it gets the name itself.
 */
function searchedFolders(): string[] | null {
  const { PATH = '', HOME = '', DYLD_LIBRARY_PATH = '', DYLD_FALLBACK_LIBRARY_PATH } = process.env;
  const defaults = [join(HOME, 'lib'), '/usr/local/lib'].join(delimiter);
  if (process.platform === 'win32') return PATH.split(delimiter).filter(isAbsolute);
  if (process.platform !== 'darwin') return null;
  return [DYLD_LIBRARY_PATH, DYLD_FALLBACK_LIBRARY_PATH ?? defaults]
    .join(delimiter)
    .split(delimiter)
    .filter(isAbsolute);
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

function runConfig(limit: number): string | null {
  const { execFileSync } = node.childProcess;
  const program = findProgram('tvm-ffi-config');
  if (program === null) return null;
  try {
    return execFileSync(program, ['--libdir'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: limit,
      killSignal: 'SIGKILL',
    }).trim();
  } catch {
    return null;
  }
}
