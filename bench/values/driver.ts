/** A process that answers requests, one per line. */

import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export class Driver {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  constructor(command: string, args: string[], env: Record<string, string> = {}) {
    this.#child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, ...env } });
    const { stdout } = this.#child;
    if (stdout === null) throw new Error('a driver without output');
    this.#lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
  }

  async read<T>(): Promise<T> {
    const { value, done } = await this.#lines.next();
    if (done) throw new Error('a driver ended early');
    return JSON.parse(value) as T;
  }

  ask(request: object): Promise<number[] | null> {
    this.#child.stdin?.write(`${JSON.stringify(request)}\n`);
    return this.read();
  }

  end(): void {
    this.#child.stdin?.end();
  }
}
