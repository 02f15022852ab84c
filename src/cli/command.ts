/** The common parts of the commands: their form, arguments and colours. */

import { parseArgs } from 'node:util';

export interface Command {
  readonly help: string;
  /** Returns the exit code. */
  run(args: string[]): Promise<number> | number;
}

/** Wrong arguments. The command prints the message and its help, and exits with code 2. */
export class UsageError extends Error {}

interface Parsed<T> {
  readonly values: { readonly [K in keyof T]?: T[K] extends 'boolean' ? boolean : string };
  readonly positionals: string[];
}

/** Node's `parseArgs`, with errors that are shown without a stack. */
export function parse<T extends Record<string, 'boolean' | 'string'>>(args: string[], kinds: T): Parsed<T> {
  const options = Object.fromEntries(Object.entries(kinds).map(([name, type]) => [name, { type }]));
  try {
    return parseArgs({ args, options, allowPositionals: true, strict: true }) as Parsed<T>;
  } catch (error) {
    throw new UsageError((error as Error).message.split('. ')[0]);
  }
}

const codes = { green: 32, yellow: 33, red: 31, dim: 2 };

/** Colours text for a terminal, but not in a file or a pipe, or if NO_COLOR is set. */
export function paint(colour: keyof typeof codes, text: string): string {
  if (process.stdout.isTTY !== true || process.env.NO_COLOR) return text;
  return `\u001b[${codes[colour]}m${text}\u001b[0m`;
}
