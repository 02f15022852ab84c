/** Room on the stack for what must not fail. */

/**
 * Throws a RangeError now if the stack has no room for several nested calls. For code that is about to hold something
 * that only calls can release.
 */
export function ensureRoom(calls = 16): void {
  if (calls > 0) ensureRoom(calls - 1);
}
