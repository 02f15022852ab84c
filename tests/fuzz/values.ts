/** Random values that a foreign language returns unchanged. */

import type { Python } from 'dlpack/python';
import type { Random } from './random.js';

export type Value = null | boolean | number | bigint | string | Uint8Array | Value[];

const texts = ['', 'a', 'é', '한국어', '🙂', 'a\0b', 'x'.repeat(300), 'ü'.repeat(300)];

export function randomValue(random: Random, depth: number): Value {
  const kind = random.integer(0, depth > 0 ? 8 : 6);
  if (kind === 0) return null;
  if (kind === 1) return random.chance(0.5);
  if (kind === 2) return random.integer(-1000, 1000);
  if (kind === 3) return random.next() * 1000 + 0.5;
  if (kind === 4) return 2n ** BigInt(random.integer(53, 62)) + BigInt(random.integer(0, 1000));
  if (kind === 5) return random.pick(texts);
  if (kind === 6) return Uint8Array.from({ length: random.integer(0, 300) }, () => random.integer(0, 255));
  return Array.from({ length: random.integer(0, 6) }, () => randomValue(random, depth - 1));
}

/** Whether a returned value equals the value that was passed. Python lists are read element by element. */
export function sameValue(py: Python | null, sent: Value, got: unknown): boolean {
  if (Array.isArray(sent)) {
    const elements = py === null ? (got as unknown[]) : [...(got as Iterable<unknown>)];
    return elements.length === sent.length && sent.every((value, i) => sameValue(py, value, elements[i]));
  }
  if (sent instanceof Uint8Array) return got instanceof Uint8Array && String(sent) === String(got);
  return Object.is(sent, got ?? null);
}
