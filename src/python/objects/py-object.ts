/** The type of Python objects, below what makes them. */

/**
 * A Python object. Attributes are properties, and functions can be called: `torch.relu(x)`, `array.shape`. Numbers,
 * strings, bytes, booleans and None become JavaScript values. Everything else becomes a PyObject, which can be called,
 * iterated, printed, released with `[Symbol.dispose]()` and, if it is a tensor, passed to `fromDLPack`.
 */
// biome-ignore lint/suspicious/noExplicitAny: only Python knows the attributes of a Python object
export type PyObject = any;

/** Imports a Python module. */
export type ImportModule = (name: string) => PyObject;

/** Makes a proxy for the handle of a Python object. */
export type Wrap = (handle: number) => PyObject;
