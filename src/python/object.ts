/**
 * PyObject: a Python object as JavaScript sees it.
 *
 * @module
 */

import type { Descriptor } from '../descriptor.js';
import type { DLDevice } from '../device.js';
import { ArgumentTypeError, ArgumentValueError, DisposedError } from '../errors.js';
import { DLPACK, DLPACK_DEVICE, type DLPackRequest } from '../managed.js';
import { withNative } from '../native/export.js';
import { takeFrame } from '../native/import.js';
import { checkStatus } from '../native/status.js';
import { produce } from '../produce.js';
import { OwnRequest } from '../request.js';
import { descriptorOf, TensorView } from '../view.js';
import type { PythonBinding } from './binding.js';
import { PythonError } from './error.js';
import {
  COUNT,
  FAILED,
  f64,
  KEYWORDS,
  Kind,
  MAX_CELLS,
  OPERATION,
  Operation,
  RESULT_HANDLE,
  RESULT_KIND,
  RESULT_NUMBER,
  u32,
  writeCell,
} from './frame.js';

/**
 * A Python object. Attributes read as properties, calls as calls: `torch.relu(x)`, `array.shape`. Numbers, strings, bytes,
 * booleans and None arrive as JavaScript values; everything else as an object of this kind, which can be called, iterated,
 * printed, released with `[Symbol.dispose]()` and, if it is a tensor, passed to `fromDLPack`.
 */
// biome-ignore lint/suspicious/noExplicitAny: what a Python object has is known to Python alone
export type PyObject = any;

/**
 * What can be passed to Python: null, booleans, numbers, bigints, strings, Uint8Arrays, PyObjects, Tensors, arrays (lists),
 * objects with plain keys (dicts), and keyword arguments at the end of a call.
 */
export type PyArgument = PyObject;

/** Keyword arguments, made with `kwargs({ ... })`, as the last argument of a call. */
export class Keywords {
  readonly values: { readonly [name: string]: PyArgument };
  constructor(values: { readonly [name: string]: PyArgument }) {
    this.values = values;
  }
}

/** `f(x, kwargs({ dim: 1 }))` is Python's `f(x, dim=1)`. */
export function kwargs(values: { readonly [name: string]: PyArgument }): Keywords {
  return new Keywords(values);
}

/** A reference to a Python object, by its number in the native table. */
class Reference {
  handle: number;
  constructor(handle: number) {
    this.handle = handle;
  }
}

const references = new WeakMap<object, Reference>();
let binding: PythonBinding | null = null;

export function setBinding(loaded: PythonBinding): void {
  binding = loaded;
}

function python(): PythonBinding {
  return binding as PythonBinding;
}

// Never waits for the GIL: the reference is dropped by whoever holds it next.
const registry = new FinalizationRegistry<Reference>((reference) => release(reference, false));

function release(reference: Reference, now: boolean): void {
  const { handle } = reference;
  if (handle === 0) return;
  reference.handle = 0;
  writeCell(0, Kind.handle, handle, 0);
  if (now) python().releaseNow();
  else python().releaseLater();
}

function handleOf(object: object): number {
  const handle = (references.get(object) as Reference).handle;
  if (handle === 0) throw new DisposedError('Expected a live Python object but it was disposed');
  return handle;
}

/** True for objects of Python. */
export function isPyObject(value: unknown): boolean {
  return typeof value === 'function' && references.has(value);
}

function wrap(handle: number): PyObject {
  const reference = new Reference(handle);
  const target = () => {};
  const proxy = new Proxy(target, traps);
  references.set(target, reference);
  references.set(proxy, reference);
  registry.register(proxy, reference);
  return proxy;
}

/** Runs one operation. `temporaries` are handles that are let go afterwards. */
function perform(operation: number, args: readonly PyArgument[], keywords?: Keywords): unknown {
  const temporaries: number[] = [];
  try {
    const names = keywords === undefined ? [] : Object.keys(keywords.values);
    const all = [...args, ...names.flatMap((name) => [name, keywords?.values[name] as PyArgument])];
    if (all.length > MAX_CELLS) {
      throw new ArgumentValueError('arguments', `at most ${MAX_CELLS} of them`, all.length);
    }
    // Containers and tensors first: making them uses the frame.
    const ready = all.map((value) => prepare(value, temporaries));
    const texts: (string | Uint8Array)[] = [];
    for (let i = 0; i < ready.length; i++) encode(i, ready[i] as Prepared, texts);
    u32[OPERATION] = operation;
    u32[COUNT] = ready.length;
    u32[KEYWORDS] = names.length;
    return decode(python().do(...texts));
  } finally {
    for (const handle of temporaries) {
      writeCell(0, Kind.handle, handle, 0);
      python().releaseNow();
    }
  }
}

type Prepared = null | boolean | number | bigint | string | Uint8Array | { handle: number };

function prepare(value: PyArgument, temporaries: number[]): Prepared {
  switch (typeof value) {
    case 'undefined':
      return null;
    case 'boolean':
    case 'number':
    case 'bigint':
    case 'string':
      return value;
    case 'function':
      if (references.has(value)) return { handle: handleOf(value) };
      break;
    case 'object': {
      if (value === null || value instanceof Uint8Array) return value;
      const made = value instanceof TensorView ? makeTensor(value) : makeContainer(value, temporaries);
      temporaries.push(made);
      return { handle: made };
    }
  }
  throw new ArgumentTypeError('argument', 'a value that Python can take', value);
}

function makeContainer(value: object, temporaries: number[]): number {
  const isArray = Array.isArray(value);
  if (!isArray && Object.getPrototypeOf(value) !== Object.prototype && Object.getPrototypeOf(value) !== null) {
    throw new ArgumentTypeError('argument', 'a value that Python can take', value);
  }
  const flat: PyArgument[] = isArray ? value : Object.entries(value).flat();
  if (flat.length > MAX_CELLS)
    throw new ArgumentValueError('argument', `at most ${MAX_CELLS} entries; pass a Tensor`, flat.length);
  const ready = flat.map((entry) => prepare(entry, temporaries));
  const texts: (string | Uint8Array)[] = [];
  for (let i = 0; i < ready.length; i++) encode(i, ready[i] as Prepared, texts);
  u32[OPERATION] = isArray ? Operation.list : Operation.dict;
  u32[COUNT] = ready.length;
  u32[KEYWORDS] = 0;
  python().do(...texts);
  return takeHandle();
}

/** A tensor as a Python object that owns a reference to its memory; JavaScript memory is copied for it. */
function makeTensor(tensor: TensorView): number {
  return withNative(descriptorOf(tensor), null, () => {
    const failure = python().makeTensor();
    checkStatus();
    if (u32[FAILED] === 1) throw toError(failure);
    return takeHandle();
  });
}

function takeHandle(): number {
  return u32[RESULT_HANDLE] as number;
}

function encode(index: number, value: Prepared, texts: (string | Uint8Array)[]): void {
  if (value === null) writeCell(index, Kind.none, 0, 0);
  else if (typeof value === 'boolean') writeCell(index, Kind.bool, 0, value ? 1 : 0);
  else if (typeof value === 'number') {
    // -0 is a float, and so is everything that a 64-bit integer does not hold exactly.
    const kind = Number.isSafeInteger(value) && !Object.is(value, -0) ? Kind.int : Kind.float;
    writeCell(index, kind, 0, value);
  } else if (typeof value === 'object' && 'handle' in value) writeCell(index, Kind.handle, value.handle, 0);
  else {
    const kind = typeof value === 'string' ? Kind.string : typeof value === 'bigint' ? Kind.bigint : Kind.bytes;
    writeCell(index, kind, 0, 0);
    texts.push(typeof value === 'bigint' ? String(value) : (value as string | Uint8Array));
  }
}

function decode(text: unknown): unknown {
  if (u32[FAILED] === 1) throw toError(text);
  switch (u32[RESULT_KIND]) {
    case Kind.bool:
      return f64[RESULT_NUMBER] === 1;
    case Kind.int:
    case Kind.float:
      return f64[RESULT_NUMBER];
    case Kind.string:
    case Kind.bytes:
      return text;
    case Kind.bigint:
      return BigInt(text as string);
    case Kind.handle:
      return wrap(takeHandle());
    default:
      return null;
  }
}

function toError(raised: unknown): PythonError {
  const { type, message, traceback = '' } = raised as Record<'type' | 'message' | 'traceback', string>;
  const exception = u32[RESULT_KIND] === Kind.handle ? wrap(takeHandle()) : null;
  return new PythonError(type, message, traceback, exception);
}

/** The tensor of a Python object: its type's exchange API, then versioned, then legacy. */
function consume(object: object, request: DLPackRequest): Descriptor {
  writeCell(0, Kind.handle, handleOf(object), 0);
  const { copy = null } = request;
  writeCell(1, Kind.int, 0, copy === null ? -1 : copy ? 1 : 0);
  writeCell(2, Kind.int, 0, request.device?.type ?? 0);
  writeCell(3, Kind.int, 0, request.device?.id ?? 0);
  u32[COUNT] = request.device == null ? 1 : 4;
  const failure = python().consume();
  if (u32[FAILED] === 1) throw toError(failure);
  checkStatus();
  return takeFrame();
}

function* iterate(object: object): Generator<unknown> {
  const iterator = perform(Operation.iterate, [object as PyObject]) as PyObject;
  for (;;) {
    const value = perform(Operation.next, [iterator]);
    if (u32[RESULT_KIND] === Kind.end) return;
    yield value;
  }
}

const methods = {
  [DLPACK](this: object, request: DLPackRequest = {}): object {
    const descriptor = consume(this, request);
    if (request instanceof OwnRequest) return descriptor;
    try {
      return produce(descriptor, { ...request, copy: null, device: null });
    } finally {
      descriptor.storage.release();
    }
  },
  [DLPACK_DEVICE](this: PyObject): DLDevice {
    const [type, id] = [...this.__dlpack_device__()] as [number, number];
    return { type, id };
  },
  [Symbol.iterator](this: object) {
    return iterate(this);
  },
  [Symbol.dispose](this: object): void {
    release(references.get(this) as Reference, true);
  },
  [Symbol.toPrimitive](this: object, hint: string): unknown {
    const text = perform(Operation.text, [this as PyObject]) as string;
    return hint === 'number' ? Number(text) : text;
  },
  [Symbol.for('nodejs.util.inspect.custom')](this: object): string {
    return `PyObject ${perform(Operation.text, [this as PyObject])}`;
  },
};

const traps: ProxyHandler<() => void> = {
  get(_target, name, receiver) {
    if (typeof name === 'symbol') {
      const method = (methods as Record<symbol, unknown>)[name];
      return typeof method === 'function' ? method.bind(receiver) : undefined;
    }
    // A promise is recognised by `then`: a Python object is none, or awaiting one would call into Python.
    if (name === 'then') return undefined;
    if (name === 'toString') return () => perform(Operation.text, [receiver as PyObject]);
    return perform(Operation.getAttribute, [receiver as PyObject, name]);
  },
  set(_target, name, value, receiver) {
    if (typeof name === 'symbol') return false;
    perform(Operation.setAttribute, [receiver as PyObject, name, value as PyArgument]);
    return true;
  },
  apply(target, _this, args: PyArgument[]) {
    const last = args.at(-1);
    const keywords = last instanceof Keywords ? last : undefined;
    const positional = keywords === undefined ? args : args.slice(0, -1);
    return perform(Operation.call, [target as unknown as PyObject, ...positional], keywords);
  },
  has: (_target, name) => typeof name === 'symbol' && name in methods,
  ownKeys: () => [],
  getOwnPropertyDescriptor: () => undefined,
  getPrototypeOf: () => Function.prototype,
};

/** `object[key]` of Python. */
export function getItem(object: PyObject, key: PyArgument): PyObject {
  return perform(Operation.getItem, [object, key]) as PyObject;
}

/** `object[key] = value` of Python. */
export function setItem(object: PyObject, key: PyArgument, value: PyArgument): void {
  perform(Operation.setItem, [object, key, value]);
}

/** A module. */
export function importModule(name: string): PyObject {
  if (typeof name !== 'string') throw new ArgumentTypeError('name', 'the name of a module', name);
  return perform(Operation.import, [name]) as PyObject;
}

/** A tuple of Python. */
export function makeTuple(values: readonly PyArgument[]): PyObject {
  return perform(Operation.tuple, values) as PyObject;
}
