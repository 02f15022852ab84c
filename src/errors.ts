/**
 * Every error this package throws. One base class, a literal `tag`, typed fields, a `cause`.
 *
 * A registered symbol identifies the errors, never `instanceof`, because two copies of the package in one process must
 * understand each other's errors.
 */

const brand: unique symbol = Symbol.for('dlpack.error') as never;

/** The common base: catch it, or narrow with {@link isDLPackError}. */
export abstract class DLPackError extends Error {
  abstract readonly tag: string;

  get [brand](): true {
    return true;
  }

  override get name(): string {
    return this.tag;
  }
}

/** The errors about one argument. Their tags are Python's names for such errors. */
abstract class ArgumentError extends DLPackError {
  constructor(
    readonly argument: string,
    expected: string,
    received: unknown,
    advice = '',
  ) {
    super(`Expected ${expected} for ${argument} but received ${describe(received)}${advice && `; ${advice}`}`);
  }

  /** The name differs from the tag, because this class is not JavaScript's own TypeError. */
  override get name(): string {
    return `Argument${this.tag}`;
  }
}

/** An argument has the wrong JavaScript type. */
export class ArgumentTypeError extends ArgumentError {
  readonly tag = 'TypeError';
}

/** An argument has the right type but an impossible value. */
export class ArgumentValueError extends ArgumentError {
  readonly tag = 'ValueError';
}

/** An index or axis lies outside the tensor. */
export class IndexError extends DLPackError {
  readonly tag = 'IndexError';

  constructor(
    message: string,
    readonly index: unknown,
  ) {
    super(message);
  }
}

/** The data cannot be exchanged as requested: it needs a copy, is on another device, or no longer exists. */
export class BufferError extends DLPackError {
  readonly tag = 'BufferError';
}

/** The address of the data is not aligned as the dtype requires. Where a copy is allowed, `fromDLPack` makes one. */
export class MisalignedError extends BufferError {}

/** The dtype is unknown, or the other side has no such type. */
export class UnsupportedDTypeError extends DLPackError {
  readonly tag = 'UnsupportedDTypeError';

  constructor(
    readonly dtype: string,
    message: string,
  ) {
    super(message);
  }
}

/** The device is unknown, or this process cannot access its memory. */
export class UnsupportedDeviceError extends DLPackError {
  readonly tag = 'UnsupportedDeviceError';

  constructor(
    readonly device: string,
    message: string,
  ) {
    super(message);
  }
}

/** Shape and strides are malformed, overflow, reach outside their memory, or would need a copy. */
export class LayoutError extends DLPackError {
  readonly tag = 'LayoutError';
  readonly shape: readonly number[];
  readonly strides: readonly number[] | null;

  constructor(message: string, shape: readonly number[] = [], strides: readonly number[] | null = null) {
    super(message);
    this.shape = [...shape];
    this.strides = strides === null ? null : [...strides];
  }
}

/** The major version differs. The deleter was called, and no other field of the struct was read. */
export class VersionError extends DLPackError {
  readonly tag = 'VersionError';

  constructor(
    readonly found: readonly [number, number],
    readonly supported: readonly [number, number],
  ) {
    super(
      `Expected a tensor of DLPack ${supported[0]}.x but received version ${found[0]}.${found[1]}; ` +
        'it was released unread. Ask the producer for an older version (maxVersion), or update this package',
    );
  }
}

/** The tensor does not satisfy the spec of {@link expectTensor}. `path` names the property. */
export class SpecError extends DLPackError {
  readonly tag = 'SpecError';

  constructor(
    readonly path: string,
    readonly expected: string,
    readonly received: string,
  ) {
    super(`Expected ${expected} for ${path} but received ${received}`);
  }
}

/** A managed tensor, capsule or token was offered a second time. */
export class ConsumedError extends DLPackError {
  readonly tag = 'ConsumedError';
}

/** A tensor was used after `dispose()`, or the owner of its JavaScript buffer detached or shrank the buffer. */
export class DisposedError extends DLPackError {
  readonly tag = 'DisposedError';
}

/** A write to read-only memory, or a request for a writable view of it. */
export class ReadOnlyError extends DLPackError {
  readonly tag = 'ReadOnlyError';
}

/** A native library could not be found or loaded. `tried` lists the places, `suggestions` the remedies. */
export class LoadError extends DLPackError {
  readonly tag = 'LoadError';

  constructor(
    readonly library: string,
    readonly tried: readonly string[],
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

/** A foreign producer or library failed. `origin` names it, and `cause` is the value that it threw. */
export class ForeignError extends DLPackError {
  readonly tag = 'ForeignError';

  constructor(
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
  TypeError: ArgumentTypeError;
  ValueError: ArgumentValueError;
  IndexError: IndexError;
  BufferError: BufferError;
  UnsupportedDTypeError: UnsupportedDTypeError;
  UnsupportedDeviceError: UnsupportedDeviceError;
  LayoutError: LayoutError;
  VersionError: VersionError;
  SpecError: SpecError;
  ConsumedError: ConsumedError;
  DisposedError: DisposedError;
  ReadOnlyError: ReadOnlyError;
  LoadError: LoadError;
  ForeignError: ForeignError;
}

/** The literal tags of all errors that the program imports. */
export type DLPackErrorTag = keyof DLPackErrors;

/** True for any error of this package, or with `tag` only for that error. Works across copies of the package. */
export function isDLPackError(error: unknown): error is DLPackError;
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

/** `value (kind)`, short enough for a message. Never throws, so that it does not hide the error being described. */
export function describe(value: unknown): string {
  try {
    return describeReadable(value);
  } catch {
    return typeof value === 'function' ? 'anonymous (function)' : 'an object of no class';
  }
}

function describeReadable(value: unknown): string {
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
