/**
 * Runs the commands that a build needs.
 *
 * @module
 */

import { spawn } from 'node:child_process';

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
export function runCommand(command: string, args: readonly string[], cwd?: string): Promise<Outcome> {
  return new Promise((resolve) => {
    const env = { ...process.env, LC_ALL: 'C', CLICOLOR_FORCE: undefined, GCC_COLORS: undefined };
    const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], windowsHide: true });
    let output = '';
    const collect = (chunk: unknown) => {
      output += String(chunk);
    };
    child.stdout.setEncoding('utf8').on('data', collect);
    child.stderr.setEncoding('utf8').on('data', collect);
    child.on('error', (error) => resolve({ isDone: false, status: error.message, output }));
    child.on('close', (code, signal) => resolve({ isDone: code === 0, status: signal ?? `exit code ${code}`, output }));
  });
}

const versions = new Map<string, Promise<Outcome>>();

/** The tool at a command line, or null when it does not run. Its version is read once. */
export async function findTool([command = '', ...args]: readonly string[]): Promise<Tool | null> {
  const key = JSON.stringify([command, ...args]);
  const running = versions.get(key) ?? runCommand(command, [...args, '--version']);
  versions.set(key, running);
  const { isDone, output } = await running;
  if (isDone) return { command, args, version: output };
  versions.delete(key); // it may be installed later
  return null;
}
