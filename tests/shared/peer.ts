/** A Python process beside a test, which runs a command of oracle.py and exchanges lines with it. */

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const script = `${root}tests/shared/oracle.py`;
const interpreter = `${root}.venv/bin/python`;

const isLinux = process.platform === 'linux';
const hasTorch = isLinux && existsSync(interpreter);

export const linuxMissing = isLinux ? false : 'shared memory of Linux';
export const pythonMissing = hasTorch ? false : 'PyTorch in .venv on Linux (npm test installs it)';
/** Starts a program as another user, which needs root. */
export const nobody = ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups'];
const readsScript = ['-c', `import multiprocessing.shared_memory; open(${JSON.stringify(script)})`];
const runsAsNobody = (program: string) =>
  spawnSync('setpriv', [...nobody.slice(1), program, ...readsScript]).status === 0;
/** A Python that another user can run, which cannot read everybody's home folder. */
const othersInterpreter = isLinux ? [interpreter, '/usr/bin/python3'].find(runsAsNobody) : undefined;
export const otherUserMissing =
  othersInterpreter === undefined ? 'root, setpriv, and a Python that other users can run' : false;

const programFor = (user: readonly string[]) => [...user, user === nobody ? othersInterpreter : interpreter];

/** Runs a command to its end, and returns its message. */
export function runPython<T>(command: string, args: readonly string[], user: readonly string[] = []): T {
  const [program, ...rest] = [...programFor(user), script, command, ...args] as [string, ...string[]];
  const { status, stdout, stderr } = spawnSync(program, rest, { encoding: 'utf8', cwd: '/' });
  if (status !== 0) throw new Error(`oracle.py ${command} ended with ${status}\n${stderr}`);
  return JSON.parse(stdout) as T;
}

export interface Peer {
  /** The next line. */
  told<T>(): Promise<T>;
  /** Lets the command continue. */
  goOn(): void;
  kill(): void;
  ended(): Promise<number | null>;
}

export function startPython(command: string, args: readonly string[], user: readonly string[] = []): Peer {
  const [program, ...rest] = [...programFor(user), script, command, ...args] as [string, ...string[]];
  const child = spawn(program, rest, { stdio: ['pipe', 'pipe', 'inherit'], cwd: '/' });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const exit = once(child, 'exit') as Promise<[number | null]>;
  return {
    told: async () => {
      const { value, done } = await lines.next();
      if (done === true) throw new Error(`oracle.py ${command} ended`);
      return JSON.parse(value) as never;
    },
    goOn: () => void child.stdin.write('\n'),
    kill: () => void child.kill('SIGKILL'),
    ended: async () => (await exit)[0],
  };
}
