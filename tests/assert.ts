/** Assertions, so that the same tests run where there is no `node:assert`. */

import { type DLPackErrorTag, isDLPackError } from 'dlpack';

class AssertionError extends Error {}

function show(value: unknown): string {
  if (typeof value === 'bigint') return `${value}n`;
  if (Object.is(value, -0)) return '-0';
  try {
    return JSON.stringify(value, (_, v) => (typeof v === 'bigint' ? `${v}n` : v)) ?? String(value);
  } catch {
    return String(value);
  }
}

function isEqual(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b) || ArrayBuffer.isView(a) !== ArrayBuffer.isView(b)) return false;
  const [left, right] = [Object.keys(a), Object.keys(b)];
  return (
    left.length === right.length &&
    left.every((key) => isEqual((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key]))
  );
}

export function equal(actual: unknown, expected: unknown, message = ''): void {
  if (!isEqual(actual, expected)) {
    throw new AssertionError(`${message} expected ${show(expected)} but received ${show(actual)}`.trim());
  }
}

export function notEqual(actual: unknown, expected: unknown, message = ''): void {
  if (isEqual(actual, expected)) throw new AssertionError(`${message} expected anything but ${show(expected)}`.trim());
}

export function ok(value: unknown, message = 'expected a true value'): asserts value {
  if (!value) throw new AssertionError(message);
}

/** The action throws an error of this package with this tag, and its message contains `text`. Returns the error. */
export function throws<T extends DLPackErrorTag>(tag: T, text: string, action: () => unknown) {
  let returned: unknown;
  try {
    returned = action();
  } catch (error) {
    if (!isDLPackError(error, tag)) throw new AssertionError(`expected a ${tag} but received ${String(error)}`);
    if (!error.message.includes(text)) {
      throw new AssertionError(`expected a message with ${show(text)} but received ${show(error.message)}`);
    }
    return error;
  }
  throw new AssertionError(`expected a ${tag} but nothing was thrown (${show(returned)})`);
}

/** As {@link throws}, for a promise that rejects. */
export async function rejects<T extends DLPackErrorTag>(tag: T, text: string, promise: Promise<unknown>) {
  const outcome = await promise.then(
    (value) => () => value,
    (error: unknown) => () => {
      throw error;
    },
  );
  return throws(tag, text, outcome);
}

/** The error that a promise is rejected with. */
export async function rejection<E = unknown>(promise: Promise<unknown>): Promise<E> {
  try {
    await promise;
  } catch (error) {
    return error as E;
  }
  throw new AssertionError('expected a rejection');
}
