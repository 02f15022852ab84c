/**
 * Every error this package throws. One base class, a literal `tag`, typed fields, a `cause`. The `name` is that of the
 * class. The `tag` is the word that a program switches on: the same, except for classes whose errors have a name in the
 * specification of the protocol (`TypeError`, `ValueError`, `BufferError`).
 *
 * A registered symbol identifies the errors, never `instanceof`, because two copies of the package in one process must
 * understand each other's errors.
 */

const brand: unique symbol = Symbol.for('dlpack.error') as never;

/**
 * The common base: catch it, or narrow with {@link isDLPackError}.
 *
 * @example
 * ```ts
 * import { isDLPackError, Tensor } from 'dlpack';
 * try {
 *   Tensor.from([1, 2, 3]).reshape([2, 2]);
 * } catch (error) {
 *   if (!isDLPackError(error)) throw error;
 *   console.log(error.tag, error.message); // LayoutError Expected a shape of 3 elements but received [2, 2], which has 4
 * }
 * ```
 */
export abstract class DLPackError extends Error {
  /** The word that a program switches on. docs/errors.md has a section for each class. */
  abstract readonly tag: string;

  /**
   * Marks the errors of every copy of the package.
   *
   * @hidden
   */
  get [brand](): true {
    return true;
  }

  /** The name of the class, also in minified programs. */
  override get name(): string {
    return this.tag;
  }
}

/**
 * The errors about one argument. Their tags are Python's names for such errors.
 *
 * @example
 * ```ts
 * import { isDLPackError, Tensor } from 'dlpack';
 * try {
 *   Tensor.empty([-1], 'float32');
 * } catch (error) {
 *   if (!isDLPackError(error, 'TypeError') && !isDLPackError(error, 'ValueError')) throw error;
 *   console.log(error.argument); // shape
 * }
 * ```
 */
export abstract class ArgumentError extends DLPackError {
  constructor(
    /** The name of the argument, or the path to a part of it. */
    readonly argument: string,
    expected: string,
    received: unknown,
    advice = '',
  ) {
    super(`Expected ${expected} for ${argument} but received ${describe(received)}${advice && `; ${advice}`}`);
  }

  /** Not the tag, because these classes are not JavaScript's own TypeError. */
  override get name(): string {
    return `Argument${this.tag}`;
  }
}

/**
 * An argument has the wrong JavaScript type. Its tag is `'TypeError'`.
 *
 * @example
 * ```ts
 * import { isDLPackError, Tensor } from 'dlpack';
 * try {
 *   Tensor.from('1, 2' as never);
 * } catch (error) {
 *   if (!isDLPackError(error, 'TypeError')) throw error;
 *   console.log(error.name, error.argument); // ArgumentTypeError source
 * }
 * ```
 */
export class ArgumentTypeError extends ArgumentError {
  readonly tag = 'TypeError';
}

/**
 * An argument has the right type but an impossible value. Its tag is `'ValueError'`.
 *
 * @example
 * ```ts
 * import { isDLPackError, Tensor } from 'dlpack';
 * try {
 *   Tensor.from([300], { dtype: 'int8' });
 * } catch (error) {
 *   if (!isDLPackError(error, 'ValueError')) throw error;
 *   console.log(error.name, error.argument); // ArgumentValueError value
 * }
 * ```
 */
export class ArgumentValueError extends ArgumentError {
  readonly tag = 'ValueError';
}

/**
 * An index or axis lies outside the tensor.
 *
 * @example
 * ```ts
 * import { isDLPackError, Tensor } from 'dlpack';
 * try {
 *   Tensor.from([1, 2, 3]).get(3);
 * } catch (error) {
 *   if (!isDLPackError(error, 'IndexError')) throw error;
 *   console.log(error.index); // 3
 * }
 * ```
 */
export class IndexError extends DLPackError {
  readonly tag = 'IndexError';

  constructor(
    message: string,
    /** The index as it was given; null where there was none. */
    readonly index: unknown,
  ) {
    super(message);
  }
}

/**
 * The data cannot be exchanged as requested: it needs a copy, is on another device, or no longer exists.
 *
 * @example
 * ```ts
 * import { fromDLPack, isDLPackError, Tensor } from 'dlpack';
 * try {
 *   fromDLPack(Tensor.from([1, 2]), { device: 'cuda:0', copy: false });
 * } catch (error) {
 *   console.log(isDLPackError(error, 'BufferError')); // true
 * }
 * ```
 */
export class BufferError extends DLPackError {
  readonly tag = 'BufferError';
}

/**
 * The address of the data is not aligned as the dtype requires. Where a copy is allowed, `fromDLPack` makes one. Its tag
 * is `'BufferError'`.
 *
 * @example
 * ```ts fragment: needs NumPy
 * import { fromDLPack, isDLPackError } from 'dlpack';
 * import { kwargs } from 'dlpack/python';
 * const odd = np.frombuffer(new Uint8Array(9), kwargs({ dtype: 'float32', offset: 1 }));
 * try {
 *   fromDLPack(odd, { copy: false });
 * } catch (error) {
 *   if (!isDLPackError(error, 'BufferError')) throw error;
 *   console.log(error.name); // MisalignedError
 * }
 * ```
 */
export class MisalignedError extends BufferError {
  override get name(): string {
    return 'MisalignedError';
  }
}

/**
 * No memory is left, on the host or on a device. `nbytes` is the size of the request, if it is known.
 *
 * @example
 * ```ts
 * import { isDLPackError, Tensor } from 'dlpack';
 * try {
 *   Tensor.empty([2 ** 46], 'float64');
 * } catch (error) {
 *   if (!isDLPackError(error, 'OutOfMemoryError')) throw error;
 *   console.log(error.nbytes); // 562949953421312
 * }
 * ```
 */
export class OutOfMemoryError extends DLPackError {
  readonly tag = 'OutOfMemoryError';

  /** The message says what could not be done. */
  constructor(
    what: string,
    /** The bytes that were asked for; null where nobody knows. */
    readonly nbytes: number | null = null,
    options?: { cause?: unknown },
  ) {
    super(`Out of memory: ${what}`, options);
  }
}

/**
 * The dtype is unknown, or the other side has no such type.
 *
 * @example
 * ```ts
 * import { isDLPackError, Tensor } from 'dlpack';
 * try {
 *   Tensor.empty([2], 'float33' as 'float32');
 * } catch (error) {
 *   if (!isDLPackError(error, 'UnsupportedDTypeError')) throw error;
 *   console.log(error.dtype); // float33
 * }
 * ```
 */
export class UnsupportedDTypeError extends DLPackError {
  readonly tag = 'UnsupportedDTypeError';

  constructor(
    /** The dtype as it was given. */
    readonly dtype: string,
    message: string,
  ) {
    super(message);
  }
}

/**
 * The device is unknown, or this process cannot access its memory.
 *
 * @example
 * ```ts
 * import { isDLPackError, Tensor } from 'dlpack';
 * try {
 *   Tensor.empty([2], 'float32', { device: 'gpu:0' as 'cuda:0' });
 * } catch (error) {
 *   if (!isDLPackError(error, 'UnsupportedDeviceError')) throw error;
 *   console.log(error.device); // gpu:0
 * }
 * ```
 */
export class UnsupportedDeviceError extends DLPackError {
  readonly tag = 'UnsupportedDeviceError';

  constructor(
    /** The device as it was given. */
    readonly device: string,
    message: string,
  ) {
    super(message);
  }
}

/**
 * Shape and strides are malformed, overflow, reach outside their memory, or would need a copy.
 *
 * @example
 * ```ts
 * import { isDLPackError, Tensor } from 'dlpack';
 * try {
 *   Tensor.from([[1, 2], [3, 4]]).transpose().data; // not one block: contiguous() makes one
 * } catch (error) {
 *   if (!isDLPackError(error, 'LayoutError')) throw error;
 *   console.log(error.shape, error.strides); // [2, 2] [1, 2]
 * }
 * ```
 */
export class LayoutError extends DLPackError {
  readonly tag = 'LayoutError';
  /** The shape that was refused; empty where there was none. */
  readonly shape: readonly number[];
  /** The strides that were refused; null where there were none. */
  readonly strides: readonly number[] | null;

  constructor(message: string, shape: readonly number[] = [], strides: readonly number[] | null = null) {
    super(message);
    this.shape = [...shape];
    this.strides = strides === null ? null : [...strides];
  }
}

/**
 * The major version differs. The deleter was called, and no other field of the struct was read.
 *
 * @example
 * ```ts
 * import { DLPACK, fromDLPack, isDLPackError, Tensor } from 'dlpack';
 * const newer = { [DLPACK]: () => ({ ...Tensor.from([1])[DLPACK](), version: [2, 0] }) };
 * try {
 *   fromDLPack(newer as never);
 * } catch (error) {
 *   if (!isDLPackError(error, 'VersionError')) throw error;
 *   console.log(error.found); // [2, 0]
 * }
 * ```
 */
export class VersionError extends DLPackError {
  readonly tag = 'VersionError';

  constructor(
    /** The version of the tensor. */
    readonly found: readonly [number, number],
    /** The newest version that this package reads. */
    readonly supported: readonly [number, number],
  ) {
    super(
      `Expected a tensor of DLPack ${supported[0]}.x but received version ${found[0]}.${found[1]}; ` +
        'it was released unread. Ask the producer for an older version (maxVersion), or update this package',
    );
  }
}

/**
 * The tensor does not satisfy the spec of {@link expectTensor}. `path` names the property.
 *
 * @example
 * ```ts
 * import { expectTensor, isDLPackError, Tensor } from 'dlpack';
 * try {
 *   expectTensor(Tensor.from([1, 2]), { dtype: 'float32' });
 * } catch (error) {
 *   if (!isDLPackError(error, 'SpecError')) throw error;
 *   console.log(error.path, error.expected, error.received); // dtype float32 float64
 * }
 * ```
 */
export class SpecError extends DLPackError {
  readonly tag = 'SpecError';

  constructor(
    /** The property that differs, such as `'shape[2]'`. */
    readonly path: string,
    /** What the spec asks for. */
    readonly expected: string,
    /** What the tensor has. */
    readonly received: string,
  ) {
    super(`Expected ${expected} for ${path} but received ${received}`);
  }
}

/**
 * A managed tensor, capsule or token was offered a second time.
 *
 * @example
 * ```ts
 * import { DLPACK, fromDLPack, isDLPackError, Tensor } from 'dlpack';
 * const managed = Tensor.from([1, 2])[DLPACK]();
 * const producer = { [DLPACK]: () => managed }; // wrong: the same tensor to each consumer
 * const first = fromDLPack(producer);
 * try {
 *   fromDLPack(producer);
 * } catch (error) {
 *   console.log(first.shape, isDLPackError(error, 'ConsumedError')); // [2] true
 * }
 * ```
 */
export class ConsumedError extends DLPackError {
  readonly tag = 'ConsumedError';
}

/**
 * A tensor was used after `dispose()`, or the owner of its JavaScript buffer detached or shrank the buffer.
 *
 * @example
 * ```ts
 * import { isDLPackError, Tensor } from 'dlpack';
 * const x = Tensor.from([1, 2]);
 * x.dispose();
 * try {
 *   x.get(0);
 * } catch (error) {
 *   console.log(isDLPackError(error, 'DisposedError')); // true
 * }
 * ```
 */
export class DisposedError extends DLPackError {
  readonly tag = 'DisposedError';
}

/**
 * A write to read-only memory, or a request for a writable view of it.
 *
 * @example
 * ```ts
 * import { isDLPackError, Tensor } from 'dlpack';
 * const x = Tensor.wrap(new Float32Array(2), { readonly: true });
 * try {
 *   x.fill(1);
 * } catch (error) {
 *   console.log(isDLPackError(error, 'ReadOnlyError')); // true
 * }
 * ```
 */
export class ReadOnlyError extends DLPackError {
  readonly tag = 'ReadOnlyError';
}

/**
 * A native library could not be found or loaded. `tried` lists the places, `suggestions` the remedies.
 *
 * @example
 * ```ts
 * import { isDLPackError } from 'dlpack';
 * import { python } from 'dlpack/python';
 * try {
 *   python({ executable: '/nowhere/python3' });
 * } catch (error) {
 *   if (!isDLPackError(error, 'LoadError')) throw error;
 *   console.log(error.library, error.suggestions.length > 0); // Python true
 * }
 * ```
 */
export class LoadError extends DLPackError {
  readonly tag = 'LoadError';

  constructor(
    /** The library's name. */
    readonly library: string,
    /** Where it was looked for, and what happened there. */
    readonly tried: readonly string[],
    /** What to do about it. */
    readonly suggestions: readonly string[],
    options?: { cause?: unknown },
  ) {
    super(
      [
        `Could not load ${library}.`,
        ...tried.map((t) => `  tried: ${t}`),
        ...suggestions.map((s) => `  do: ${s}`),
      ].join('\n'),
      options,
    );
  }
}

/**
 * A foreign producer or library failed. `origin` names it, and `cause` is the value that it threw.
 *
 * @example
 * ```ts
 * import { DLPACK, fromDLPack, isDLPackError, Tensor } from 'dlpack';
 * const deleter = () => JSON.parse('{'); // a release that fails
 * const x = fromDLPack({ [DLPACK]: () => ({ ...Tensor.from([1])[DLPACK](), deleter }) } as never);
 * try {
 *   x.dispose();
 * } catch (error) {
 *   if (!isDLPackError(error, 'ForeignError')) throw error;
 *   console.log(error.origin, (error.cause as Error).name); // producer SyntaxError
 * }
 * ```
 */
export class ForeignError extends DLPackError {
  readonly tag = 'ForeignError';

  constructor(
    /** The name of the producer or the library. */
    readonly origin: string,
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}

/**
 * Every error by its tag. Modules that define errors add them here (`declare module '../errors.js'`), so that
 * `isDLPackError(e, 'CudaError')` type-checks in a program that imports `dlpack/cuda`.
 */
export interface DLPackErrors {
  /** An argument of another type. */
  TypeError: ArgumentTypeError;
  /** An argument with an impossible value. */
  ValueError: ArgumentValueError;
  /** An index outside of the tensor. */
  IndexError: IndexError;
  /** Data that cannot be exchanged as requested. */
  BufferError: BufferError;
  /** No memory is left. */
  OutOfMemoryError: OutOfMemoryError;
  /** A dtype that the other side does not have. */
  UnsupportedDTypeError: UnsupportedDTypeError;
  /** A device that this process cannot reach. */
  UnsupportedDeviceError: UnsupportedDeviceError;
  /** A shape or strides that do not fit. */
  LayoutError: LayoutError;
  /** A tensor of another major version. */
  VersionError: VersionError;
  /** A tensor that is not as `expectTensor` asks. */
  SpecError: SpecError;
  /** A managed tensor that was used before. */
  ConsumedError: ConsumedError;
  /** A tensor that was disposed. */
  DisposedError: DisposedError;
  /** A write to read-only memory. */
  ReadOnlyError: ReadOnlyError;
  /** A library that could not be loaded. */
  LoadError: LoadError;
  /** A failure of another library. */
  ForeignError: ForeignError;
}

/** The literal tags of all errors that the program imports. */
export type DLPackErrorTag = keyof DLPackErrors;

/**
 * Tells whether a value is an error of this package. Works across copies of the package, where `instanceof` does not.
 *
 * @param error - Any caught value.
 * @returns True if it is, and narrows the type.
 *
 * @example
 * ```ts
 * import { isDLPackError, Tensor } from 'dlpack';
 * try {
 *   Tensor.from([1, 2, 3]).get(3);
 * } catch (error) {
 *   console.log(isDLPackError(error, 'IndexError')); // true
 * }
 * ```
 */
export function isDLPackError(error: unknown): error is DLPackError;
/**
 * Tells whether a value is one certain error of this package.
 *
 * @param error - Any caught value.
 * @param tag - The name of the error, such as `'IndexError'`.
 * @returns True if it is, and narrows the type.
 */
export function isDLPackError<T extends DLPackErrorTag>(error: unknown, tag: T): error is DLPackErrors[T];
export function isDLPackError(error: unknown, tag?: string): boolean {
  if (!isUsable(error)) return false;
  const candidate = error as { [brand]?: unknown; tag?: unknown };
  return candidate[brand] === true && (tag === undefined || candidate.tag === tag);
}

/** Throws unless `count` is a number of bytes or elements. */
export function checkCount(count: number, argument: string): void {
  if (!Number.isSafeInteger(count) || count < 0) {
    throw new ArgumentTypeError(argument, 'an integer of zero or more', count);
  }
}

/** What was received, in words, where {@link describe} would say less about the value. */
export class Words {
  constructor(readonly text: string) {}
}

/** `value (kind)`, short enough for a message. Never throws, so that it does not hide the error being described. */
export function describe(value: unknown): string {
  try {
    return describeReadable(value);
  } catch {
    return typeof value === 'function' ? 'anonymous (function)' : 'an object of no class';
  }
}

function describeReadable(value: unknown): string {
  if (value instanceof Words) return value.text;
  if (value === null || value === undefined) return String(value);
  switch (typeof value) {
    case 'string':
      return value.length > 60 ? `'${value.slice(0, 57)}...' (string)` : `'${value}' (string)`;
    case 'bigint':
      return `${value}n (bigint)`;
    case 'function':
      return `${nameOf(value, 'anonymous')} (function)`;
    case 'symbol':
      return String(value);
    case 'object': {
      if (Array.isArray(value)) {
        // No text for functions: a Python object is a function to JavaScript, and its `toString` would call Python.
        const head = value
          .slice(0, 8)
          .map((v) => (typeof v === 'object' || typeof v === 'function' ? typeof v : String(v)));
        return `[${head.join(', ')}${value.length > 8 ? ', ...' : ''}] (Array)`;
      }
      return `an object of ${nameOf(value.constructor, 'no class')}`;
    }
    default:
      return `${String(value)} (${typeof value})`;
  }
}

/**
 * What to do with a tensor that this copy of the package did not make: a tensor of another library, a Python object, or
 * a tensor of a second copy of this package. Empty for anything else.
 */
export function adviceFor(value: unknown): string {
  try {
    const isProducer = (typeof value === 'object' || typeof value === 'function') && value !== null;
    return isProducer && Symbol.for('dlpack') in value
      ? 'it is a tensor of another library, or of another copy of dlpack: take it with fromDLPack() first'
      : '';
  } catch {
    return ''; // a proxy that throws
  }
}

/** True for an object, except a revoked proxy, on which every operation throws. */
export function isUsable(value: unknown): value is object {
  try {
    // Only a revoked proxy throws here, and no user code runs.
    return typeof value === 'object' && value !== null && (Array.isArray(value) || true);
  } catch {
    return false;
  }
}

/** As `value instanceof type`, and false for a revoked proxy. */
export function isA<T>(value: unknown, type: abstract new (...args: never) => T): value is T {
  try {
    return value instanceof type;
  } catch {
    return false;
  }
}

/** The text of a thrown value, which may have no text. */
export function textOf(error: unknown): string {
  try {
    return String(error);
  } catch {
    return describe(error);
  }
}

/** Python objects are functions to JavaScript, too, and may have no name. */
function nameOf(named: { name?: unknown } | undefined, otherwise: string): string {
  const name = named?.name;
  return typeof name === 'string' && name !== '' ? name : otherwise;
}
