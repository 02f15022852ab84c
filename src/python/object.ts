/**
 * PyObject: a Python object as JavaScript sees it.
 *
 * @module
 */

import { type DLDevice, deviceFromType } from '../device.js';
import { ArgumentTypeError, checkOptions } from '../errors.js';
import { beforeStats } from '../native/stats.js';
import { DLPACK, DLPACK_DEVICE, type DLPackRequest } from '../protocol/managed.js';
import { produce } from '../protocol/produce.js';
import type { Descriptor } from '../storage/descriptor.js';
import { type ImportRequest, setObjectImporter } from '../storage/foreign.js';
import { Tensor } from '../tensor.js';
import { perform, performTensor } from './cells.js';
import { consume } from './consume.js';
import { frame, Kind, Operation, RESULT_KIND } from './frame.js';
import { Keywords } from './keywords.js';
import { findReference, REFERENCE, Reference, release, releaseLater, settle } from './reference.js';
import { setWrap } from './results.js';

const { u32 } = frame;

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

/** True for objects of Python. */
export function isPyObject(value: unknown): boolean {
  return findReference(value) !== null;
}

const registry = new FinalizationRegistry<Reference>(releaseLater);

// Registering costs more than a call. As in collect.ts it waits for the end of the tick, and for those still alive. A list
// through the references: an array would be old, and each young object that is stored in it would be noted by the collector.
const BATCH = 1024;
let pending: Traps | null = null;
let pendingCount = 0;
let isRegistering = false;

function registerPending(): void {
  let reference = pending;
  pending = null;
  pendingCount = 0;
  while (reference !== null) {
    const { proxy, next } = reference as Traps;
    reference.proxy = null;
    reference.next = null;
    if (reference.handle !== 0) registry.register(proxy as object, reference);
    reference = next;
  }
}

function registerTick(): void {
  isRegistering = false;
  registerPending();
}

/** What is disposed at once, as most results are, leaves the list as it was. */
function disposeReference(reference: Traps): void {
  if (pending === reference) {
    pending = reference.next;
    reference.proxy = null;
    reference.next = null;
    pendingCount--;
  }
  release(reference);
}

/**
 * What all proxies stand for. A function, so that they can be called; nothing of it is ever changed. Node's console looks at it
 * instead of the proxy, and calls what it finds there on the proxy.
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

function wrap(handle: number): object {
  const reference = new Traps(handle);
  const proxy = new Proxy(target, reference);
  reference.proxy = proxy;
  reference.next = pending;
  pending = reference;
  pendingCount++;
  if (!isRegistering) {
    isRegistering = true;
    queueMicrotask(registerTick);
  } else if (pendingCount >= BATCH) registerPending();
  return proxy;
}

setWrap(wrap);

function importObject(source: object, request: ImportRequest | null): Descriptor | null {
  const reference = findReference(source);
  return reference === null ? null : consume(reference, request);
}

/** Called once an interpreter runs. */
export function importObjects(): void {
  setObjectImporter(importObject);
  beforeStats(settle);
}

function* iterate(reference: Reference): Generator<unknown> {
  // Held for all of the loop, which may go on over many ticks: the collector would release an iterator that nobody has.
  const iterator = perform(Operation.iterate, reference);
  try {
    for (;;) {
      const value = perform(Operation.next, findReference(iterator) as Traps);
      if (u32[RESULT_KIND] === Kind.end) return;
      yield value;
    }
  } finally {
    disposeReference(findReference(iterator) as Traps);
  }
}

/** What every Python object can do besides what Python knows of it. */
const methods: Record<symbol, (reference: Traps, ...args: never[]) => unknown> = {
  /** For other consumers; `fromDLPack` takes the shorter way. */
  [DLPACK]: (reference, request: DLPackRequest = {}) => {
    checkOptions(request, '{ copy: true }');
    const { device: wanted, copy = null, stream = null } = request;
    const device = wanted == null ? null : deviceFromType(wanted.type, wanted.id);
    const descriptor = consume(reference, { copy, device, stream });
    try {
      return produce(descriptor, { ...request, copy: null, device: null });
    } finally {
      descriptor.storage.release();
    }
  },
  [DLPACK_DEVICE]: (reference): DLDevice => {
    const method = perform(Operation.getAttribute, reference, '__dlpack_device__') as () => Iterable<number>;
    const [type = 0, id = 0] = [...method()];
    return { type, id };
  },
  [Symbol.iterator]: (reference) => iterate(reference),
  [Symbol.dispose]: (reference) => disposeReference(reference),
  [Symbol.toPrimitive]: (reference, hint: string) => {
    const text = perform(Operation.text, reference) as string;
    return hint === 'number' ? Number(text) : text;
  },
  [Symbol.for('nodejs.util.inspect.custom')]: (reference) => `PyObject ${perform(Operation.text, reference)}`,
};

const dispose = Symbol.dispose;

/** The traps that nobody waits for. Apart, because V8 looks a trap up at each use, through all of a class's methods. */
class RareTraps extends Reference {
  has(_target: unknown, name: string | symbol): boolean {
    return typeof name === 'symbol' && name in methods;
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

  // The target is everybody's.
  defineProperty(): boolean {
    return false;
  }

  deleteProperty(): boolean {
    return false;
  }

  preventExtensions(): boolean {
    return false;
  }

  setPrototypeOf(): boolean {
    return false;
  }
}

/** Not `instanceof` at once: that would ask an object of Python for its prototype, which costs as much as a call. */
function keywordsOf(args: readonly unknown[]): Keywords | null {
  const last = args.length > 0 ? args[args.length - 1] : undefined;
  return typeof last === 'object' && last instanceof Keywords ? last : null;
}

/** The reference of an object is the handler of its proxy: one object for both. */
class Traps extends RareTraps implements ProxyHandler<typeof target> {
  /** Until it is registered with the collector: its proxy, and the one made before it. */
  proxy: object | null;
  next: Traps | null;

  constructor(handle: number) {
    super(handle);
    this.proxy = null;
    this.next = null;
  }

  get(_target: unknown, name: string | symbol): unknown {
    if (typeof name === 'symbol') {
      if (name === REFERENCE) return this;
      if (name === dispose) return () => disposeReference(this);
      const method = methods[name];
      return method === undefined ? undefined : (...args: never[]) => method(this, ...args);
    }
    // A promise is recognised by `then`: a Python object is none, or awaiting one would call into Python.
    if (name === 'then') return undefined;
    if (name === 'toString') return () => perform(Operation.text, this);
    return perform(Operation.getAttribute, this, name);
  }

  set(_target: unknown, name: string | symbol, value: unknown): boolean {
    if (typeof name === 'symbol') return false;
    perform(Operation.setAttribute, this, name, [value]);
    return true;
  }

  apply(_target: unknown, _this: unknown, args: PyArgument[]): unknown {
    const keywords = keywordsOf(args);
    return perform(Operation.call, this, null, keywords === null ? args : args.slice(0, -1), keywords);
  }
}

export function referenceOf(object: PyObject): Reference {
  const reference = findReference(object);
  if (reference === null) throw new ArgumentTypeError('object', 'a Python object', object);
  return reference;
}

/** `fromDLPack(callable(...args))` in one step, without the object in between. */
export function callTensor(callable: PyObject, args: PyArgument[]): Tensor {
  const keywords = keywordsOf(args);
  const descriptor = performTensor(referenceOf(callable), keywords === null ? args : args.slice(0, -1), keywords);
  return new Tensor(descriptor);
}

/** `object[key]` of Python. */
export function getItem(object: PyObject, key: PyArgument): PyObject {
  return perform(Operation.getItem, referenceOf(object), null, [key]);
}

/** `object[key] = value` of Python. */
export function setItem(object: PyObject, key: PyArgument, value: PyArgument): void {
  perform(Operation.setItem, referenceOf(object), null, [key, value]);
}

/** A module. */
export function importModule(name: string): PyObject {
  if (typeof name !== 'string') throw new ArgumentTypeError('name', 'the name of a module', name);
  return perform(Operation.import, null, name);
}

/** A tuple of Python. */
export function makeTuple(values: readonly PyArgument[]): PyObject {
  return perform(Operation.tuple, null, null, values);
}
