/**
 * The proxies for Python objects. Their traps call operations, and operations make proxies, so the operations are a
 * parameter here, and this module is below operations.ts.
 */

import type { DLDevice } from '../../device.js';
import { ArgumentTypeError, BufferError, Words } from '../../errors.js';
import { DLPACK, DLPACK_DEVICE, type DLPackRequest } from '../../protocol/managed.js';
import { produce } from '../../protocol/produce.js';
import { asBufferError, readRequest } from '../../protocol/request.js';
import { collectLater } from '../../storage/collect.js';
import { isDebug, recordObject } from '../../storage/debug.js';
import { type Descriptor, Flag } from '../../storage/descriptor.js';
import type { ForeignRequest } from '../../storage/foreign.js';
import { inScope, outsideScopes } from '../../storage/scoped.js';
import { releaseAfter } from '../../storage/storage.js';
import { Tensor } from '../../tensor.js';
import { binding } from '../binding.js';
import { PythonError } from '../error.js';
import { TVM_FFI_VALUE, tvmFfiValue } from '../tensors/tvm-ffi-value.js';
import { iterateAsync } from '../threads/futures.js';
import { Operation } from '../wire-layout.js';
import type { PyObject } from './py-object.js';
import { dropUnused, findReference, REFERENCE, Reference, release } from './reference.js';

/** The operations that the traps call. */
export interface Operations {
  perform(operation: number, subject: Reference | null, name?: string | null, args?: readonly unknown[]): unknown;
  call(subject: Reference, args: readonly unknown[]): unknown;
  consume(reference: Reference, request: ForeignRequest | null): Descriptor;
  /** The handle of a converter's result for a value; 0 when the function has to be called. */
  convert(converter: Reference, value: unknown): number;
}

/** The result of {@link Operation.next} after the last element. */
export const END = Symbol('end');

/** True for names that begin with a digit or a minus sign (`x[-1]`), which no Python attribute does. */
function isIndex(name: string): boolean {
  const first = name.charCodeAt(0);
  return first >= 45 && first <= 57; // '-', '.', '/' and digits
}

function indexError(name: string, advice: string): ArgumentTypeError {
  return new ArgumentTypeError('a property', 'the name of an attribute', name, advice);
}

/** The error of a call whose last argument may have been meant as keyword arguments. */
function hintKeywords(error: unknown, args: readonly unknown[]): unknown {
  const last = args.at(-1);
  const isPlain = typeof last === 'object' && last !== null && Object.getPrototypeOf(last) === Object.prototype;
  if (isPlain && error instanceof PythonError && (error.type === 'TypeError' || error.type === 'ValueError')) {
    error.message += '; for keyword arguments pass kwargs({ ... })';
  }
  return error;
}

/** The error of `x.length`, which Python's lists and arrays do not have. */
function hintLength(error: unknown): unknown {
  if (error instanceof PythonError && error.type === 'AttributeError') {
    error.message += "; Python's len(x) is x.__len__()";
  }
  return error;
}

/** Called by `JSON.stringify`. */
function refuseJson(): never {
  const advice = 'convert it first: py.toJS(x)';
  throw new ArgumentTypeError('JSON', 'JavaScript values', new Words('a Python object'), advice);
}

/**
 * The target of all proxies. It is a function, so that proxies can be called, and it never changes. Node's console
 * inspects the target instead of the proxy, and calls the methods that it finds there on the proxy.
 */
const target = Object.assign(() => {}, {
  [Symbol.for('nodejs.util.inspect.custom')](this: unknown): string {
    try {
      return `PyObject ${String(this)}`;
    } catch (error) {
      return `PyObject (${String(error)})`; // printing must not throw
    }
  },
});

/** Runs an export by Python. A consumer in JavaScript knows the errors of the protocol, not those of Python. */
function exporting<T>(run: () => T): T {
  try {
    return asBufferError(run);
  } catch (cause) {
    if (cause instanceof PythonError) throw new BufferError(cause.message, { cause });
    throw cause;
  }
}

type Method = (reference: Reference, ...args: never[]) => unknown;

/** Methods of every Python object besides its Python attributes. */
function methodsOf({ perform, consume }: Operations): Record<symbol, Method> {
  let generators: { isinstance(x: unknown, type: unknown): unknown; type: unknown } | null = null;

  /** Closes a generator, as a JavaScript loop that is left does. Other objects with `close`, such as files, stay open. */
  function closeGenerator(iterator: unknown): void {
    // Looked up once, because `const [a, b] = tuple` leaves an iterator, too.
    if (generators === null) {
      generators = outsideScopes(() => {
        const { isinstance } = perform(Operation.import, null, 'builtins') as NonNullable<typeof generators>;
        const { GeneratorType } = perform(Operation.import, null, 'types') as { GeneratorType: unknown };
        return { isinstance, type: GeneratorType };
      });
    }
    if (generators.isinstance(iterator, generators.type)) (iterator as { close(): void }).close();
  }

  /** Python's `float(x)`; null for an object that has none. */
  function floatOf(reference: Reference): unknown {
    try {
      return (perform(Operation.getAttribute, reference, '__float__') as () => unknown)();
    } catch (error) {
      if (error instanceof PythonError) return null;
      throw error;
    }
  }

  /** Asks Python for its iterator at once, because the object may be released, by a scope for example, before the loop. */
  function iterate(reference: Reference): Generator<unknown> {
    return stepsOf(outsideScopes(() => perform(Operation.iterate, reference)));
  }

  /** Keeps the iterator during the whole loop, which may last many ticks. Otherwise the garbage collector would release it. */
  function* stepsOf(iterator: unknown): Generator<unknown> {
    const found = findReference(iterator) as Reference;
    let isLeft = false;
    try {
      for (let value = perform(Operation.next, found); value !== END; value = perform(Operation.next, found)) {
        isLeft = true;
        yield value;
        isLeft = false;
      }
    } finally {
      try {
        if (isLeft) closeGenerator(iterator);
      } finally {
        release(findReference(iterator) as Reference);
      }
    }
  }
  return {
    /** For other consumers. `fromDLPack` takes a shorter way. */
    [DLPACK]: (reference, request?: DLPackRequest | null) => {
      const wanted = readRequest(request);
      const descriptor = exporting(() => consume(reference, wanted));
      return releaseAfter(descriptor, () => {
        // Python made the copy, unless the library ignored the request.
        const isCopied = (descriptor.flags & Flag.isCopied) !== 0;
        const copy = wanted.copy === true && isCopied ? null : wanted.copy;
        return produce(descriptor, { ...wanted, copy, device: null }, true);
      });
    },
    [DLPACK_DEVICE]: (reference): DLDevice => {
      const method = perform(Operation.getAttribute, reference, '__dlpack_device__') as () => Iterable<number>;
      const [type = 0, id = 0] = [...method()];
      return { type, id };
    },
    [Symbol.iterator]: iterate,
    [Symbol.dispose]: release,
    [Symbol.toPrimitive]: (reference, hint: string) => {
      const number = hint === 'number' ? floatOf(reference) : null;
      if (typeof number === 'number') return number;
      const text = perform(Operation.text, reference) as string;
      return hint === 'number' ? Number(text) : text;
    },
    [Symbol.for('nodejs.util.inspect.custom')]: (reference) => `PyObject ${perform(Operation.text, reference)}`,
  };
}

/** The function that makes a proxy for a handle that native code returned. */
export function defineProxies(operations: Operations): (handle: number, isConverter?: boolean) => object {
  const { perform, call, convert } = operations;
  const methods = methodsOf(operations);
  const dispose = Symbol.dispose;
  const importModule = (name: string): PyObject => perform(Operation.import, null, name);
  const take = (object: unknown) => new Tensor(operations.consume(findReference(object) as Reference, null));

  /** Methods that get the proxy itself, because their results outlive the call. */
  const ownMethods: Record<symbol, (this: unknown, value?: unknown) => unknown> = {
    [TVM_FFI_VALUE]() {
      return tvmFfiValue(this, importModule, take);
    },
    /** `x instanceof torch.Tensor` is Python's `isinstance(x, torch.Tensor)`. */
    [Symbol.hasInstance](value) {
      return importModule('builtins').isinstance(value, this);
    },
    [Symbol.asyncIterator]() {
      return iterateAsync(wrap, importModule, this);
    },
  };

  /** The reference of a Python object is also the handler of its proxy, which saves an object. */
  class Handler extends Reference implements ProxyHandler<typeof target> {
    has(_target: unknown, name: string | symbol): boolean {
      return typeof name === 'symbol' && (name in methods || name in ownMethods);
    }

    get(_target: unknown, name: string | symbol): unknown {
      if (typeof name === 'symbol') {
        if (name === REFERENCE) return this;
        if (name === dispose) return () => release(this);
        const method = methods[name];
        return method === undefined ? ownMethods[name] : (...args: never[]) => method(this, ...args);
      }
      // JavaScript recognises a promise by `then`. Python objects are not promises, and awaiting one must not call Python.
      if (name === 'then') return undefined;
      if (name === 'toString') return () => perform(Operation.text, this);
      if (name === 'toJSON') return refuseJson;
      if (isIndex(name)) throw indexError(name, `Python's x[${name}] is py.getItem(x, ${name})`);
      try {
        return perform(Operation.getAttribute, this, name);
      } catch (error) {
        throw name === 'length' ? hintLength(error) : error;
      }
    }

    set(_target: unknown, name: string | symbol, value: unknown): boolean {
      if (typeof name === 'symbol') return false;
      if (isIndex(name)) throw indexError(name, `Python's x[${name}] = v is py.setItem(x, ${name}, v)`);
      perform(Operation.setAttribute, this, name, [value]);
      return true;
    }

    apply(_target: unknown, _this: unknown, args: unknown[]): unknown {
      if (this.isConverter && args.length === 1) {
        const made = convert(this, args[0]);
        if (made !== 0) return inScope(wrap(made));
      }
      try {
        return call(this, args);
      } catch (error) {
        throw hintKeywords(error, args);
      }
    }

    getPrototypeOf(): object {
      return Function.prototype;
    }

    ownKeys(): string[] {
      return [];
    }

    getOwnPropertyDescriptor(): undefined {
      return undefined;
    }

    /** All proxies share the target, so properties cannot be defined. */
    defineProperty(): boolean {
      return false;
    }

    deleteProperty(_target: unknown, name: string | symbol): never {
      const advice = `Python's del x.name is builtins.delattr(x, '${String(name)}')`;
      throw new ArgumentTypeError('delete', 'a property of a JavaScript object', name, advice);
    }

    preventExtensions(): boolean {
      return false;
    }

    setPrototypeOf(): boolean {
      return false;
    }
  }

  function wrap(handle: number, isConverter = false): object {
    const reference = new Handler(handle, isConverter);
    const proxy = new Proxy(target, reference);
    reference.proxy = proxy;
    if (isDebug()) recordObject(handle, binding().objectBytes(handle));
    dropUnused();
    collectLater(reference); // last: if anything throws before, the handle still belongs to the caller
    return proxy;
  }
  return wrap;
}
