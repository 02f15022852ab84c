/** What a scope disposes at its end: the Tensors and Python objects that its function makes. */

/** While a scope runs, every new Tensor and Python object is added to this list. */
let scoped: object[] | null = null;

/** Adds a value to the scope that runs, if there is one. */
export function inScope<T extends object>(value: T): T {
  if (scoped !== null) scoped[scoped.length] = value;
  return value;
}

/** Puts `value` in the place of a value that the program will not see, so that a scope keeps it when it is returned. */
export function replaceInScope<T extends object>(hidden: object, value: T): T {
  const at = scoped === null ? -1 : scoped.lastIndexOf(hidden);
  if (scoped !== null && at >= 0) scoped[at] = value;
  return value;
}

/** Adds new values to `list` from now on (null: nowhere) and returns the previous list. */
export function collectScoped(list: object[] | null): object[] | null {
  const before = scoped;
  scoped = list;
  return before;
}

/** Makes values that no scope disposes, because this package keeps them for later calls. */
export function outsideScopes<T>(make: () => T): T {
  const outer = collectScoped(null);
  try {
    return make();
  } finally {
    collectScoped(outer);
  }
}
