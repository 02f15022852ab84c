/** A Python process that answers frames of bytes over a pipe. */

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export class PipeChild {
  private readonly child;
  private readonly waiting: ((answer: unknown) => void)[] = [];

  constructor(python: string, script: string, ...args: string[]) {
    this.child = spawn(python, [script, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
    createInterface(this.child.stdout).on('line', (line) => this.waiting.shift()?.(JSON.parse(line)));
  }

  get pending(): number {
    return this.waiting.length;
  }

  send(frame: Uint8Array): Promise<unknown> {
    const head = Buffer.alloc(4);
    head.writeUInt32LE(frame.length);
    this.child.stdin.write(head);
    this.child.stdin.write(frame);
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  end(): void {
    this.child.stdin.end();
  }
}
