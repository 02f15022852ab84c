/** Runs the commands that a build needs. */
import { node } from '../../native/load/node-modules.js';
import { findProgram } from '../../native/load/program.js';

const { delimiter, isAbsolute, resolve, sep } = node.path;

/** A command with its first arguments, such as `zig c++`, and what it prints for `--version`. */
export interface Tool {
  readonly command: string;
  readonly args: readonly string[];
  readonly version: string;
}

export interface Outcome {
  readonly isDone: boolean;
  /** How it ended, for messages. */
  readonly status: string;
  readonly output: string;
}

/** Runs a command to its end. Never throws. Messages are in English, because they are parsed. */
export function runCommand(
  command: string,
  args: readonly string[],
  options: { cwd?: string; env?: Readonly<Record<string, string | undefined>> } = {},
): Promise<Outcome> {
  const { spawn } = node.childProcess;
  const program = findProgram(command);
  return new Promise((done) => {
    if (program === null) return done({ isDone: false, status: `no folder of the PATH has ${command}`, output: '' });
    const { cwd } = options;
    const env: NodeJS.ProcessEnv = { ...process.env, ...options.env, LC_ALL: 'C' };
    for (const name of ['CLICOLOR_FORCE', 'FORCE_COLOR', 'GCC_COLORS']) delete env[name];
    const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], windowsHide: true });
    // Two texts, because a piece of one stream may arrive in the middle of a line of the other.
    const texts = { stderr: '', stdout: '' };
    for (const name of ['stderr', 'stdout'] as const) {
      child[name].setEncoding('utf8').on('data', (chunk: unknown) => {
        texts[name] += String(chunk);
      });
    }
    const outcome = (isDone: boolean, status: string) => done({ isDone, status, output: texts.stderr + texts.stdout });
    child.on('error', (error) => outcome(false, error.message));
    child.on('close', (code, signal) => outcome(code === 0, signal ?? `exit code ${code}`));
  });
}

const versions = new Map<string, Promise<Outcome>>();

/** The tool at a command line, or null when it does not run. Its version is read once. */
export async function findTool([name = '', ...args]: readonly string[]): Promise<Tool | null> {
  // A path, because builds run in another folder. A bare name is found through the PATH.
  const command = name.includes('/') || name.includes(sep) ? resolve(name) : name;
  const key = JSON.stringify([command, ...args]);
  const running = versions.get(key) ?? runCommand(command, [...args, '--version']);
  versions.set(key, running);
  const { isDone, output } = await running;
  if (isDone) return { command, args, version: output };
  versions.delete(key); // it may be installed later
  return null;
}

/** The folders of a search path that do not depend on the working folder, which an empty part means. */
export function absoluteParts(path: string): string {
  return path.split(delimiter).filter(isAbsolute).join(delimiter);
}
