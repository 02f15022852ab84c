/** Python's integers that are larger than a JavaScript number. */

import { BufferError } from '../../errors.js';

/** Parses digits as Python writes them: `-0xff`. */
export function toBigInt(digits: string): bigint {
  try {
    return digits.startsWith('-') ? -BigInt(digits.slice(1)) : BigInt(digits);
  } catch (cause) {
    throw new BufferError('This Python int is too long for a JavaScript bigint; work with it in Python', { cause });
  }
}
