// The Rust library for JavaScript: the methods of a producer, and the request of a consumer.

import { createRequire } from 'node:module';

const {
  NativeTensor,
  isExternal,
  take: takeExternal,
} = createRequire(import.meta.url)('../../../build/native/conformance_rust.node');

const isCount = (value) => Number.isSafeInteger(value) && value >= 0;

function check(holds, expected, name = 'TypeError') {
  if (!holds) throw Object.assign(new Error(`Expected ${expected}`), { name });
}

export class RustTensor {
  #native;
  #shape;
  #dtype;

  constructor(bytes, shape, { code, bits, lanes }, flags) {
    this.#native = new NativeTensor(bytes, shape, code, bits, lanes, flags);
    this.#shape = shape;
    this.#dtype = { code, bits, lanes };
  }

  dispose() {
    this.#native.dispose();
  }

  [Symbol.for('dlpack.device')]() {
    return { type: 1, id: 0 };
  }

  [Symbol.for('dlpack')](request) {
    const { copy, native } = checked(request ?? {});
    if (native === true || native === 'only') return this.#native.external(copy === true);
    const shared = copy === true ? null : this.#native.buffer();
    check(shared !== null || copy !== false, 'a runtime that shares native memory with JavaScript', 'BufferError');
    return {
      version: [1, 3],
      flags: this.#native.flags(shared === null),
      data: shared ?? this.#native.bytes().slice().buffer,
      byteOffset: 0,
      shape: [...this.#shape],
      strides: this.#native.strides,
      dtype: { ...this.#dtype },
      device: { type: 1, id: 0 },
      deleter: null, // the buffer keeps the memory (5.4)
    };
  }
}

/** Reads each field of a request once, and refuses what host memory cannot give (2). */
function checked(request) {
  check(typeof request === 'object', 'an object as request');
  const { maxVersion = null, device = null, copy = null, stream = null, native = null } = request;
  const isVersion = Array.isArray(maxVersion) && maxVersion.length === 2 && [...maxVersion].every(isCount);
  const { type = null, id = null } = device ?? {};
  check(maxVersion === null || isVersion, 'maxVersion: an Array of two integers');
  check(device === null || (typeof type === 'number' && typeof id === 'number'), 'device: the numbers type and id');
  check([null, true, false].includes(copy), 'copy: true, false or null');
  check(stream === null || typeof stream === 'bigint', 'stream: a bigint');
  check([null, true, false, 'only'].includes(native), "native: true, false or 'only'");
  check(maxVersion === null || maxVersion[0] >= 1, 'a consumer of DLPack 1.x', 'BufferError');
  check(device === null || type === 1, 'device type 1', 'BufferError');
  check(stream === null, 'no stream, because host memory has none', 'BufferError');
  return { copy, native };
}

/** A tensor over the memory of a producer, or over a copy of it. */
export function take(producer, copy = null) {
  const method = producer?.[Symbol.for('dlpack')];
  check(typeof method === 'function', 'an object with the method Symbol.for("dlpack")');
  const result = Reflect.apply(method, producer, [{ maxVersion: [1, 3], native: 'only', copy }]);
  if (!isExternal(result)) release(result);
  check(isExternal(result), "an external, because of native: 'only'");
  return takeExternal(result, copy);
}

/** Releases a managed tensor that came in place of an external (7.7), unless somebody consumed it before (5.1). */
function release(managed) {
  const deleter = Object(managed).deleter;
  if (typeof deleter !== 'function' || consumed().has(managed)) return;
  consumed().add(managed);
  try {
    deleter.call(managed);
  } catch {} // our own error counts (5.2)
}

const ownSet = new WeakSet();

/** The set of this realm, or one of our own where that is not possible (5.8). */
function consumed() {
  const key = Symbol.for('dlpack.consumed');
  if (globalThis[key] === undefined) {
    Reflect.defineProperty(globalThis, key, { value: ownSet, writable: true, configurable: true });
  }
  return globalThis[key] instanceof WeakSet ? globalThis[key] : ownSet;
}
