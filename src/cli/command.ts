/**
 * What the commands share: their form, arguments and colours.
 *
 * @module
 */

import { parseArgs } from 'node:util';

export interface Command {
  readonly help: string;
  /** Returns the exit code. */
  run(args: string[]): Promise<number> | number;
}

/** Wrong arguments: the message and the command's help are shown, and the exit code is 2. */
export class UsageError extends Error {}

interface Parsed<T> {
  readonly values: { readonly [K in keyof T]?: T[K] extends 'boolean' ? boolean : string };
  readonly positionals: string[];
}

/** `parseArgs` of Node, whose errors are shown without a stack. */
export function parse<T extends Record<string, 'boolean' | 'string'>>(args: string[], kinds: T): Parsed<T> {
  const options = Object.fromEntries(Object.entries(kinds).map(([name, type]) => [name, { type }]));
  try {
    return parseArgs({ args, options, allowPositionals: true, strict: true }) as Parsed<T>;
  } catch (error) {
    throw new UsageError((error as Error).message.split('. ')[0]);
  }
}

const codes = { green: 32, yellow: 33, red: 31, dim: 2 };

/** Colours for a terminal; none in a file or a pipe, or where NO_COLOR is set to anything. */
export function paint(colour: keyof typeof codes, text: string): string {
  if (process.stdout.isTTY !== true || process.env.NO_COLOR) return text;
  return `\u001b[${codes[colour]}m${text}\u001b[0m`;
}
