/**
 * PyObject: a Python object as JavaScript sees it.
 *
 * @module
 */

import { type ImportRequest, setObjectImporter } from '../backend.js';
import type { Descriptor } from '../descriptor.js';
import { type DLDevice, deviceFromType } from '../device.js';
import { ArgumentTypeError, ArgumentValueError, DisposedError } from '../errors.js';
import { DLPACK, DLPACK_DEVICE, type DLPackRequest } from '../managed.js';
import { withNative } from '../native/export.js';
import { takeFrame } from '../native/import.js';
import { checkStatus } from '../native/status.js';
import { produce } from '../produce.js';
import { fromDLPack } from '../protocol.js';
import { descriptorOf, TensorView } from '../view.js';
import type { PythonBinding } from './binding.js';
import { encode, type Prepared, Reference, Taken } from './cells.js';
import { JAVASCRIPT_ERROR, PythonError } from './error.js';
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
import { Keywords } from './keywords.js';

/**
 * A Python object. Attributes read as properties, calls as calls: `torch.relu(x)`, `array.shape`. Numbers, strings, bytes,
 * booleans and None arrive as JavaScript values; everything else as an object of this kind, which can be called, iterated,
 * printed, released with `[Symbol.dispose]()` and, if it is a tensor, passed to `fromDLPack`.
 */
// biome-ignore lint/suspicious/noExplicitAny: what a Python object has is known to Python alone
export type PyObject = any;

/**
 * What can be passed to Python: null, booleans, numbers, bigints, strings, Uint8Arrays, PyObjects, Tensors, functions, arrays
 * (lists), objects with plain keys (dicts), and keyword arguments at the end of a call.
 */
export type PyArgument = PyObject;

/** What a proxy stands for. A function, so that the proxy can be called. */
interface Target {
  (): void;
  reference: Reference;
}

const references = new WeakMap<object, Reference>();
let binding: PythonBinding | null = null;

/** What callbacks.ts knows of JavaScript functions and errors that Python holds; it builds on this file. */
export interface Callbacks {
  /** A handle of a Python callable. */
  prepareFunction(target: (...args: never[]) => unknown): Taken;
  /** What JavaScript threw, for an exception that stands for it. */
  causeOf(exception: object): { cause: unknown } | undefined;
}

let callbacks: Callbacks | null = null;

export function setBinding(loaded: PythonBinding, functions: Callbacks): void {
  binding = loaded;
  callbacks = functions;
  setObjectImporter(importObject);
}

export function python(): PythonBinding {
  return binding as PythonBinding;
}

// Never waits for the GIL: the reference is dropped by whoever holds it next.
const registry = new FinalizationRegistry<Reference>((reference) => release(reference, false));

// Registering costs more than a call. As in collect.ts it waits for the end of the tick, and for those still alive.
const BATCH = 1024;
let pending: { proxy: object; reference: Reference }[] = [];

function registerPending(): void {
  const batch = pending;
  pending = [];
  for (const { proxy, reference } of batch) {
    if (reference.handle !== 0) registry.register(proxy, reference);
  }
}

export function release(reference: { handle: number }, now: boolean): void {
  const { handle } = reference;
  if (handle === 0) return;
  reference.handle = 0;
  writeCell(0, Kind.handle, handle, 0);
  if (now) python().releaseNow();
  else python().releaseLater();
}

function handleOf(reference: Reference): number {
  if (reference.handle === 0) throw new DisposedError('Expected a live Python object but it was disposed');
  return reference.handle;
}

/** True for objects of Python. */
export function isPyObject(value: unknown): boolean {
  return typeof value === 'function' && references.has(value);
}

export function wrap(handle: number): PyObject {
  const reference = new Reference(handle);
  const target = (() => {}) as Target;
  target.reference = reference;
  const proxy = new Proxy(target, traps);
  references.set(proxy, reference);
  if (pending.push({ proxy, reference }) === 1) queueMicrotask(registerPending);
  else if (pending.length >= BATCH) registerPending();
  return proxy;
}

const noArguments: readonly PyArgument[] = [];

/** Runs one operation on an object, if it has one, and arguments. */
export function perform(
  operation: number,
  subject: Reference | null,
  args: readonly PyArgument[] = noArguments,
  keywords?: Keywords,
): unknown {
  if (subject !== null) handleOf(subject);
  let all = args;
  let names: string[] | null = null;
  if (keywords !== undefined) {
    names = Object.keys(keywords.values);
    all = [...args, ...names.flatMap((name) => [name, keywords.values[name]])];
  }
  return decode(send(operation, subject, prepareAll(all), names === null ? 0 : names.length));
}

/** Containers and tensors are made before the frame is filled, because making them uses it. */
export function prepareAll(args: readonly PyArgument[]): Prepared[] {
  const ready: Prepared[] = [];
  try {
    for (let i = 0; i < args.length; i++) ready[i] = prepare(args[i]);
    return ready;
  } catch (error) {
    for (const value of ready) if (value instanceof Taken) release(value, true);
    throw error;
  }
}

/** Fills the frame and calls. */
export function send(
  operation: number,
  subject: Reference | null,
  ready: readonly Prepared[],
  keywords: number,
): unknown {
  const first = subject === null ? 0 : 1;
  if (ready.length + first > MAX_CELLS) {
    for (const value of ready) if (value instanceof Taken) release(value, true);
    throw new ArgumentValueError(
      'arguments',
      `at most ${MAX_CELLS} of them; pass many numbers as a Tensor`,
      ready.length,
    );
  }
  let texts: (string | Uint8Array)[] | null = null;
  if (subject !== null) writeCell(0, Kind.handle, subject.handle, 0);
  for (let i = 0; i < ready.length; i++) {
    const text = encode(i + first, ready[i] as Prepared);
    if (text === null) continue;
    texts ??= [];
    texts.push(text);
  }
  u32[OPERATION] = operation;
  u32[COUNT] = ready.length + first;
  u32[KEYWORDS] = keywords;
  return texts === null ? python().do() : python().do(...texts);
}

export function prepare(value: PyArgument): Prepared {
  switch (typeof value) {
    case 'undefined':
      return null;
    case 'boolean':
    case 'number':
    case 'bigint':
    case 'string':
      return value;
    case 'function': {
      const reference = references.get(value);
      if (reference === undefined) return (callbacks as Callbacks).prepareFunction(value);
      handleOf(reference);
      return reference;
    }
    case 'object':
      if (value === null || value instanceof Uint8Array) return value;
      if (value instanceof TensorView) return new Taken(makeTensor(value));
      return new Taken(DLPACK in value ? makeShared(value) : makeContainer(value));
  }
  throw new ArgumentTypeError('argument', 'a value that Python can take', value);
}

function makeContainer(value: object): number {
  const isArray = Array.isArray(value);
  if (!isArray && Object.getPrototypeOf(value) !== Object.prototype && Object.getPrototypeOf(value) !== null) {
    throw new ArgumentTypeError('argument', 'a value that Python can take', value);
  }
  const entries: PyArgument[] = isArray ? value : Object.entries(value).flat();
  const failure = send(isArray ? Operation.list : Operation.dict, null, prepareAll(entries), 0);
  if (u32[FAILED] === 1) throw toError(failure);
  return u32[RESULT_HANDLE] as number;
}

/** A tensor as a Python object that owns a reference to its memory; JavaScript memory is copied for it. */
function makeTensor(tensor: TensorView): number {
  return withNative(descriptorOf(tensor), null, sendTensor);
}

/** Any producer of the JavaScript protocol: spans, tensors of other libraries. */
function makeShared(producer: object): number {
  const tensor = fromDLPack(producer);
  try {
    return makeTensor(tensor);
  } finally {
    tensor.dispose();
  }
}

function sendTensor(): number {
  const failure = python().makeTensor();
  checkStatus();
  if (u32[FAILED] === 1) throw toError(failure);
  return u32[RESULT_HANDLE] as number;
}

export function decode(text: unknown): unknown {
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
      return wrap(u32[RESULT_HANDLE] as number);
    default:
      return null;
  }
}

export function toError(raised: unknown): PythonError {
  const { type, message, traceback = '' } = raised as Record<'type' | 'message' | 'traceback', string>;
  const exception = u32[RESULT_KIND] === Kind.handle ? wrap(u32[RESULT_HANDLE] as number) : null;
  const isOurs = type === JAVASCRIPT_ERROR && exception !== null;
  return new PythonError(type, message, traceback, exception, isOurs ? callbacks?.causeOf(exception) : undefined);
}

/** The tensor of a Python object: its type's exchange API, then versioned, then legacy. */
function consume(reference: Reference, request: ImportRequest | null): Descriptor {
  writeCell(0, Kind.handle, handleOf(reference), 0);
  const copy = request === null ? null : request.copy;
  const device = request === null ? null : request.device;
  writeCell(1, Kind.int, 0, copy === null ? -1 : copy ? 1 : 0);
  writeCell(2, Kind.int, 0, device === null ? 0 : device.type);
  writeCell(3, Kind.int, 0, device === null ? 0 : device.id);
  u32[COUNT] = device === null ? 1 : 4;
  const failure = python().consume();
  if (u32[FAILED] === 1) throw toError(failure);
  checkStatus();
  return takeFrame();
}

function importObject(source: object, request: ImportRequest | null): Descriptor | null {
  const reference = references.get(source);
  return reference === undefined ? null : consume(reference, request);
}

function* iterate(reference: Reference): Generator<unknown> {
  // Held for all of the loop, which may go on over many ticks: the collector would release an iterator that nobody has.
  const iterator = perform(Operation.iterate, reference) as object;
  try {
    for (;;) {
      const value = perform(Operation.next, references.get(iterator) as Reference);
      if (u32[RESULT_KIND] === Kind.end) return;
      yield value;
    }
  } finally {
    release(references.get(iterator) as Reference, true);
  }
}

/** What every Python object can do besides what Python knows of it. */
const methods: Record<symbol, (reference: Reference, ...args: never[]) => unknown> = {
  /** For other consumers; `fromDLPack` takes the shorter way. */
  [DLPACK]: (reference, request: DLPackRequest = {}) => {
    const device = request.device == null ? null : deviceFromType(request.device.type, request.device.id);
    const descriptor = consume(reference, { copy: request.copy ?? null, device });
    try {
      return produce(descriptor, { ...request, copy: null, device: null });
    } finally {
      descriptor.storage.release();
    }
  },
  [DLPACK_DEVICE]: (reference): DLDevice => {
    const method = perform(Operation.getAttribute, reference, ['__dlpack_device__']) as () => Iterable<number>;
    const [type = 0, id = 0] = [...method()];
    return { type, id };
  },
  [Symbol.iterator]: (reference) => iterate(reference),
  [Symbol.dispose]: (reference) => release(reference, true),
  [Symbol.toPrimitive]: (reference, hint: string) => {
    const text = perform(Operation.text, reference) as string;
    return hint === 'number' ? Number(text) : text;
  },
  [Symbol.for('nodejs.util.inspect.custom')]: (reference) => `PyObject ${perform(Operation.text, reference)}`,
};

const traps: ProxyHandler<Target> = {
  get({ reference }, name) {
    if (typeof name === 'symbol') {
      const method = methods[name];
      return method === undefined ? undefined : (...args: never[]) => method(reference, ...args);
    }
    // A promise is recognised by `then`: a Python object is none, or awaiting one would call into Python.
    if (name === 'then') return undefined;
    if (name === 'toString') return () => perform(Operation.text, reference);
    return perform(Operation.getAttribute, reference, [name]);
  },
  set({ reference }, name, value) {
    if (typeof name === 'symbol') return false;
    perform(Operation.setAttribute, reference, [name, value]);
    return true;
  },
  apply({ reference }, _this, args: PyArgument[]) {
    const last = args.length > 0 ? args[args.length - 1] : undefined;
    if (!(last instanceof Keywords)) return perform(Operation.call, reference, args);
    return perform(Operation.call, reference, args.slice(0, -1), last);
  },
  has: (_target, name) => typeof name === 'symbol' && name in methods,
  ownKeys: () => [],
  getOwnPropertyDescriptor: () => undefined,
  getPrototypeOf: () => Function.prototype,
};

export function referenceOf(object: PyObject): Reference {
  const reference = typeof object === 'function' ? references.get(object) : undefined;
  if (reference === undefined) throw new ArgumentTypeError('object', 'a Python object', object);
  return reference;
}

/** `object[key]` of Python. */
export function getItem(object: PyObject, key: PyArgument): PyObject {
  return perform(Operation.getItem, referenceOf(object), [key]);
}

/** `object[key] = value` of Python. */
export function setItem(object: PyObject, key: PyArgument, value: PyArgument): void {
  perform(Operation.setItem, referenceOf(object), [key, value]);
}

/** A module. */
export function importModule(name: string): PyObject {
  if (typeof name !== 'string') throw new ArgumentTypeError('name', 'the name of a module', name);
  return perform(Operation.import, null, [name]);
}

/** A tuple of Python. */
export function makeTuple(values: readonly PyArgument[]): PyObject {
  return perform(Operation.tuple, null, values);
}
