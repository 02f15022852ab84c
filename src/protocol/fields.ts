/** Fields of a managed tensor that need a check before they are used. */

import { ArgumentTypeError } from '../errors.js';
import { KNOWN_FLAGS } from '../storage/layouts.js';

/** The known bits of `flags`. Bit operations alone would turn NaN, 0.5 and -1 into flags. */
export function readFlags(flags: unknown): number {
  const isCount = typeof flags === 'bigint' ? BigInt.asUintN(64, flags) === flags : Number.isSafeInteger(flags);
  if (!isCount || (flags as number | bigint) < 0) {
    throw new ArgumentTypeError('flags', 'an integer of zero or more', flags);
  }
  return typeof flags === 'bigint' ? Number(flags & BigInt(KNOWN_FLAGS)) : (flags as number) & KNOWN_FLAGS;
}

/** True for `[major, minor]`: two integers of zero or more. */
export function isVersion(value: unknown): value is [major: number, minor: number] {
  if (!Array.isArray(value) || value.length !== 2) return false;
  const [major, minor] = value; // every() would skip holes
  return Number.isSafeInteger(major) && major >= 0 && Number.isSafeInteger(minor) && minor >= 0;
}

/** Throws for anything but an Array: a typed array could change after it was checked. */
export function checkArray(values: unknown, field: string): void {
  if (!Array.isArray(values)) throw new ArgumentTypeError(field, 'an Array of integers', values);
}
