/** Finds a Python with a shared library. */

import { LoadError } from '../../errors.js';
import { node } from '../../native/load/node-modules.js';
import { findExecutable, runExecutable } from './executable.js';
import QUESTION from './find.py';

const { existsSync } = node.fs;

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

/** Finds Python by the options first, then in the usual places. */
export function findPython(options: PythonOptions): FoundPython {
  const executable = findExecutable(options);
  // Isolated mode, because a file such as json.py in the working folder must not run.
  const answer = parse(executable, runExecutable(executable, ['-I', '-c', QUESTION]));
  if (answer.version[0] !== 3 || answer.version[1] < 9) {
    throw new LoadError('Python', [`${executable} is ${answer.version.join('.')}`], ['use Python 3.9 or newer']);
  }
  const library = options.library ?? answer.candidates.find((path) => !path.endsWith('.a') && existsSync(path));
  if (library === undefined) {
    throw new LoadError("Python's shared library", answer.candidates, suggestLibrary(answer));
  }
  if (process.env.PYTHONHOME) checkHome(executable, process.env.PYTHONHOME);
  return { library, program: answer.executable, venv: answer.prefix === answer.base ? null : answer.prefix };
}

/** A Python that cannot start in the folder of PYTHONHOME ends the process. Isolated mode ignores that variable. */
function checkHome(executable: string, home: string): void {
  try {
    runExecutable(executable, ['-c', 'pass']);
  } catch (cause) {
    const tried = `${executable} does not start with PYTHONHOME=${home}`;
    throw new LoadError('Python', [tried], ['unset PYTHONHOME, which names the folder of another Python'], { cause });
  }
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
