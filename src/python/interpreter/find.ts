/** Finds a Python with a shared library. */

import type { SpawnSyncReturns } from 'node:child_process';
import { LoadError } from '../../errors.js';
import { node } from '../../native/load/node-modules.js';
import { findProgram, patience } from '../../native/load/program.js';

const { existsSync } = node.fs;
const { join } = node.path;

/** Which Python runs, and how. Only the first call of `python()` in a process may choose. */
export interface PythonOptions {
  /** A Python executable. The default is that of the virtual environment, else `python3` on the PATH. */
  executable?: string;
  /** A virtual environment. The default is `VIRTUAL_ENV`, then `.venv` in the working folder. */
  venv?: string;
  /** The shared library of Python itself. The default is the one that the executable names. */
  library?: string;
  /**
   * Which side handles the signals of the process. `'javascript'` (default): handlers that Python code or a library installs are
   * removed again. `'python'`: they stay, and process.on('SIGTERM'), Ctrl-C or WebAssembly traps may stop working.
   */
  signals?: 'javascript' | 'python';
  /** How many calls of `callAsync` run at once, 1 to 128. The default is the number of cores, limited to 4 to 16. */
  threads?: number;
  /** How many milliseconds Python's exit functions may take when the process ends, at most an hour. The default is 30,000. */
  exitTimeout?: number;
}

export interface FoundPython {
  readonly library: string;
  /** The executable whose environment (sys.path, packages) the interpreter uses. */
  readonly program: string;
  readonly venv: string | null;
}

interface Answer {
  version: [number, number];
  candidates: string[];
  prefix: string;
  base: string;
  executable: string;
  debian?: boolean;
}

const question = `
import json, os, sys, sysconfig
names = [sysconfig.get_config_var(n) for n in ("INSTSONAME", "LDLIBRARY")]
if os.name == "nt":
  threads = "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
  names.append("python%d%d%s.dll" % (*sys.version_info[:2], threads))
names.append(sysconfig.get_config_var("PYTHONFRAMEWORK"))
folders = [sysconfig.get_config_var("LIBDIR"), os.path.join(sys.base_prefix, "lib"), sys.base_prefix]
multiarch = sysconfig.get_config_var("MULTIARCH")
if multiarch: folders.append(os.path.join(sys.base_prefix, "lib", multiarch))
print(json.dumps({
  "version": sys.version_info[:2],
  "candidates": [os.path.join(f, n) for f in folders if f for n in names if n],
  "prefix": sys.prefix, "base": sys.base_prefix, "executable": sys.executable,
  "debian": os.path.exists("/etc/debian_version"),
}))`;

/** Python installers for Windows do not install python3. */
const onPath = process.platform === 'win32' ? 'python' : 'python3';
const binary = (venv: string) => join(venv, process.platform === 'win32' ? 'Scripts/python.exe' : 'bin/python');

/** True for a folder `.venv`. Some tools write a file of this name, with the name of an environment elsewhere. */
export const hasEnvironment = (): boolean => existsSync('.venv/');

/** The executable that the options name, or that of the environment, or the Python on the PATH. */
export function findExecutable(options: PythonOptions = {}): string {
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

/** Finds Python by the options first, then in the usual places. `limit`: how many milliseconds Python may take to answer. */
export function findPython(options: PythonOptions, limit = patience): FoundPython {
  const executable = findExecutable(options);
  // Isolated mode, because a file such as json.py in the working folder must not run.
  const answer = parse(executable, run(executable, ['-I', '-c', question], limit));
  if (answer.version[0] !== 3 || answer.version[1] < 9) {
    throw new LoadError('Python', [`${executable} is ${answer.version.join('.')}`], ['use Python 3.9 or newer']);
  }
  const library = options.library ?? answer.candidates.find((path) => !path.endsWith('.a') && existsSync(path));
  if (library === undefined) {
    throw new LoadError("Python's shared library", answer.candidates, suggestLibrary(answer));
  }
  if (process.env.PYTHONHOME) checkHome(executable, process.env.PYTHONHOME, limit);
  return { library, program: answer.executable, venv: answer.prefix === answer.base ? null : answer.prefix };
}

/** A Python that cannot start in the folder of PYTHONHOME ends the process. Isolated mode ignores that variable. */
function checkHome(executable: string, home: string, limit: number): void {
  try {
    run(executable, ['-c', 'pass'], limit);
  } catch (cause) {
    const tried = `${executable} does not start with PYTHONHOME=${home}`;
    throw new LoadError('Python', [tried], ['unset PYTHONHOME, which names the folder of another Python'], { cause });
  }
}

/** Runs the executable and returns its output. */
function run(executable: string, args: readonly string[], limit: number): string {
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

function suggestLibrary({ version, base, debian }: Answer): string[] {
  const named = 'or name one: python({ library: "/path/to/libpython3.x.so" })';
  // Debian and Ubuntu ship the library of the system's Python in a separate package.
  if (debian === true && base === '/usr') return [`install it: apt install libpython${version.join('.')}`, named];
  return [
    'this Python was built without one: use a Python of your system or of conda',
    `with pyenv: PYTHON_CONFIGURE_OPTS="--enable-shared" pyenv install --force ${version.join('.')}`,
    named,
  ];
}

/** Only the last line counts, because a start-up file of the user may print, too. */
function parse(executable: string, text: string): Answer {
  const line = text.trim().split('\n').at(-1) ?? '';
  let cause: unknown;
  try {
    const answer: unknown = JSON.parse(line);
    if (isAnswer(answer)) return answer;
  } catch (error) {
    cause = error;
  }
  const tried = [`${executable} said: ${line.slice(0, 200)}`];
  throw new LoadError('Python', tried, ['name a Python: python({ executable: "/path/to/python3" })'], { cause });
}

const isText = (value: unknown) => typeof value === 'string';

function isAnswer(value: unknown): value is Answer {
  const { version, candidates, prefix, base, executable } = (value ?? {}) as Partial<Answer>;
  const isVersion = Array.isArray(version) && version.length === 2 && version.every(Number.isInteger);
  return isVersion && Array.isArray(candidates) && [...candidates, prefix, base, executable].every(isText);
}
