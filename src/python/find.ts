/**
 * Finds a Python with a shared library.
 *
 * @module
 */

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { LoadError } from '../errors.js';

export interface PythonOptions {
  /** A Python executable. */
  executable?: string;
  /** A virtual environment. Found by itself: `VIRTUAL_ENV`, then `.venv` in the working folder. */
  venv?: string;
  /** The shared library of Python itself. */
  library?: string;
  /** How many calls of `callAsync` run at once, 1 to 128; by itself as many as there are cores, 4 to 16. */
  threads?: number;
}

export interface FoundPython {
  readonly library: string;
  /** The executable whose environment (sys.path, packages) the interpreter takes on. */
  readonly program: string;
  readonly venv: string | null;
}

interface Answer {
  version: [number, number];
  shared: boolean;
  candidates: string[];
  prefix: string;
  base: string;
  executable: string;
}

const question = `
import json, os, sys, sysconfig
names = [sysconfig.get_config_var(n) for n in ("INSTSONAME", "LDLIBRARY")]
folders = [sysconfig.get_config_var("LIBDIR"), os.path.join(sys.base_prefix, "lib"), sys.base_prefix]
print(json.dumps({
  "version": sys.version_info[:2],
  "shared": bool(sysconfig.get_config_var("Py_ENABLE_SHARED")) or sys.platform == "win32",
  "candidates": [os.path.join(f, n) for f in folders if f for n in names if n],
  "prefix": sys.prefix, "base": sys.base_prefix, "executable": sys.executable,
}))`;

const binary = (venv: string) => join(venv, process.platform === 'win32' ? 'Scripts/python.exe' : 'bin/python');

/** Where Python is, by what was named, then by what is there. */
export function findPython(options: PythonOptions): FoundPython {
  const venv = options.venv ?? process.env.VIRTUAL_ENV ?? (existsSync(binary('.venv')) ? '.venv' : undefined);
  const executable = options.executable ?? (venv === undefined ? 'python3' : binary(venv));
  const { status, stdout, stderr, error } = spawnSync(executable, ['-c', question], { encoding: 'utf8' });
  if (status !== 0) {
    throw new LoadError(
      'Python',
      [`${executable}: ${error?.message ?? stderr.trim().split('\n').at(-1)}`],
      ['install Python 3.9 or newer, or name one: python({ executable: "/path/to/python3" })'],
      { cause: error },
    );
  }
  const answer = parse(executable, stdout);
  if (answer.version[0] !== 3 || answer.version[1] < 9) {
    throw new LoadError('Python', [`${executable} is ${answer.version.join('.')}`], ['use Python 3.9 or newer']);
  }
  const library =
    options.library ?? answer.candidates.find((path) => /\.(so|dylib|dll)/.test(path) && existsSync(path));
  if (library === undefined) {
    throw new LoadError('the shared library of Python', answer.candidates, [
      'this Python was built without one: use a Python of your system or of conda',
      'with pyenv, build it with PYTHON_CONFIGURE_OPTS="--enable-shared"',
      'or name one: python({ library: "/path/to/libpython3.x.so" })',
    ]);
  }
  return { library, program: answer.executable, venv: answer.prefix === answer.base ? null : answer.prefix };
}

/** A start-up file of the user's may print too: the last line counts. */
function parse(executable: string, text: string): Answer {
  const line = text.trim().split('\n').at(-1) ?? '';
  try {
    return JSON.parse(line) as Answer;
  } catch (cause) {
    const tried = [`${executable} said: ${line.slice(0, 200)}`];
    throw new LoadError('Python', tried, ['name a Python: python({ executable: "/path/to/python3" })'], { cause });
  }
}
