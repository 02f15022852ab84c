/** Checks of options that become paths and words of command lines. */

import { ArgumentTypeError, ArgumentValueError } from '../../errors.js';

/** Throws unless the value is text that the system takes as a path or as a word of a command line. */
export function checkText(option: string, value: unknown, expected: string): asserts value is string {
  if (typeof value !== 'string') throw new ArgumentTypeError(option, expected, value);
  if (value === '' || value.includes('\0'))
    throw new ArgumentValueError(option, `${expected}, not empty and without NUL characters`, value);
}

/** The texts of an optional array. */
export function textsOf(option: string, value: unknown): readonly string[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw new ArgumentTypeError(option, 'an array of strings', value);
  for (const text of value) checkText(option, text, 'strings');
  return [...value] as string[];
}
