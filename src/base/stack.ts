/** Room on the stack for what must not fail. */

/** Calls itself. The callers pass arguments that it does not read, so that few calls take much of the stack. */
const takeRoom: (calls: number, ...padding: number[]) => void = (calls) => {
  if (calls > 0) takeRoom(calls - 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
};

/**
 * Throws a RangeError now if the stack has no room for many nested calls. For code that is about to hold something
 * that only calls can release.
 */
export const ensureRoom = (): void => takeRoom(8);
