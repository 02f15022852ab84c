/**
 * Checks the options of public functions: they must be an object without unknown names, because a misspelt option would
 * otherwise be ignored silently. A protocol request is different: it ignores unknown fields (docs/spec.md).
 */

import { ArgumentTypeError, isUsable } from '../errors.js';

/** How an option is checked: true leaves its value to the caller. */
type CheckOf<Value> = unknown extends Value
  ? true
  : [Value] extends [boolean | undefined]
    ? 'boolean'
    : [Value] extends [boolean | null | undefined]
      ? 'boolean or null'
      : true;

/**
 * The names of all options of an interface: `{ readonly: 'boolean', copy: 'boolean or null', device: true }`. The
 * compiler finds a forgotten name.
 */
export type OptionNames<T> = { readonly [Name in keyof T]-?: CheckOf<T[Name]> };

/** Throws unless `options` is an object. A shape, a name or a flag in its place would be ignored silently. */
export function checkObject(options: unknown, example: string, argument = 'options'): void {
  if (!isUsable(options) || Array.isArray(options)) {
    throw new ArgumentTypeError(argument, `an object such as ${example}`, options);
  }
}

/**
 * Throws unless `options` is an object, `names` has each of its keys, and boolean options are booleans. Callers without
 * options skip this call.
 */
export function checkOptions<T extends object>(options: T, names: OptionNames<T>, example: string): void {
  checkObject(options, example);
  for (const name in options) {
    // Not `name in names`, because `names` has a prototype, and an option could be called 'constructor'.
    const check: unknown = names[name];
    if (check === true || !Object.hasOwn(options, name)) continue;
    if (typeof check !== 'string') throw unknownOption(name, Object.keys(names));
    const value: unknown = options[name];
    if (value === undefined || typeof value === 'boolean' || (value === null && check !== 'boolean')) continue;
    throw new ArgumentTypeError(name, `a ${check}`, value);
  }
}

function unknownOption(name: string, known: readonly string[]): ArgumentTypeError {
  const meant = nearest(name, known);
  return new ArgumentTypeError(
    'options',
    known.join(', ').replace(/, (\w+)$/, ' or $1'),
    name,
    meant === null ? '' : `did you mean '${meant}'?`,
  );
}

/** The known name with the fewest changed letters, for messages; null when more than a third of the letters differ. */
export function nearest(name: string, known: readonly string[]): string | null {
  const given = plain(name);
  let best: string | null = null;
  let fewest = Math.max(2, Math.floor(given.length / 3)) + 1;
  for (const candidate of known) {
    const other = plain(candidate);
    if (Math.abs(other.length - given.length) >= fewest) continue;
    const changes = distance(given, other);
    if (changes < fewest) {
      best = candidate;
      fewest = changes;
    }
  }
  return best;
}

/** Names from other languages differ in case and underscores: `require_contiguous`, `readOnly`. */
function plain(name: string): string {
  return name.slice(0, 100).toLowerCase().replace(/_/g, '');
}

/** Letters to insert, delete or replace to turn `a` into `b` (Levenshtein). */
function distance(a: string, b: string): number {
  if (a !== '' && a[0] === b[0]) return distance(a.slice(1), b.slice(1)); // names of tensors begin alike
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next[j] = Math.min(replaced, (row[j] as number) + 1, (next[j - 1] as number) + 1);
    }
    row = next;
  }
  return row[b.length] as number;
}
