// A tensor library in plain JavaScript, written from docs/spec.md alone: it imports nothing. Rule numbers are those of
// that page.

const DLPACK = Symbol.for('dlpack');
const DLPACK_DEVICE = Symbol.for('dlpack.device');
const CONSUMED = Symbol.for('dlpack.consumed');

const READ_ONLY = 1;
const IS_COPIED = 2;
const IS_PADDED = 4;
const HOST_TYPES = [1, 3, 11, 13];
const DEVICE_TYPES = [1, 2, 3, 4, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18];

/** The widths of 3.8, by type code. */
const WIDTHS = {
  0: [1, 2, 4, 8, 16, 32, 64, 128],
  1: [1, 2, 4, 8, 16, 32, 64, 128],
  2: [16, 32, 64, 128],
  4: [16],
  5: [32, 64, 128],
  6: [8],
  15: [6],
  16: [6],
  17: [4],
};
for (let code = 7; code <= 14; code++) WIDTHS[code] = [8];

const isCount = (n) => Number.isSafeInteger(n) && n >= 0;

function refuse(tag, why) {
  throw Object.assign(new Error(why), { tag });
}

/** Bits from one element to the next (3.8). */
const widthOf = ({ bits, lanes }, padded) => (padded ? Math.ceil((bits * lanes) / 8) * 8 : bits * lanes);

/** The alignment of the first element in bytes (3.5). */
function alignmentOf({ code, bits }) {
  const scalar = code === 5 ? bits / 2 : bits;
  return scalar < 8 ? 1 : Math.min(8, scalar / 8);
}

const rowMajor = (shape) => shape.map((_, i) => shape.slice(i + 1).reduce((step, n) => step * Math.max(n, 1), 1));

/** Index sums of all elements, in row-major order. */
function places(shape, strides) {
  if (shape.includes(0)) return [];
  let found = [0];
  shape.forEach((length, axis) => {
    found = found.flatMap((at) => Array.from({ length }, (_, i) => at + i * strides[axis]));
  });
  return found;
}

/** Copies elements, given by their bit positions, one after the other. */
function pack(bytes, first, width, at) {
  const result = new Uint8Array(Math.ceil((at.length * width) / 8));
  at.forEach((place, i) => {
    for (let bit = 0; bit < width; bit++) {
      const from = first + place * width + bit;
      if ((bytes[from >> 3] >> (from & 7)) & 1) result[(i * width + bit) >> 3] |= 1 << ((i * width + bit) & 7);
    }
  });
  return result;
}

/** The length of an ArrayBuffer or a SharedArrayBuffer of any realm; null for anything else (4.1.3). */
function bufferLength(value) {
  for (const type of [ArrayBuffer, globalThis.SharedArrayBuffer]) {
    if (type === undefined) continue;
    try {
      return Object.getOwnPropertyDescriptor(type.prototype, 'byteLength').get.call(value);
    } catch {
      // not of this type
    }
  }
  return null;
}

/** Memory with a count of its users. The last one to leave calls `free`. */
class Memory {
  users = 1;
  constructor(buffer, free) {
    this.buffer = buffer;
    this.free = free;
  }
  leave() {
    if (--this.users === 0) this.free?.();
  }
}

const lost = new FinalizationRegistry((leave) => {
  try {
    leave();
  } catch {
    // a deleter that throws must not stop the others
  }
});

/** A function that works once. */
function once(action) {
  let done = false;
  return () => {
    if (done) return;
    done = true;
    action();
  };
}

/** Checks the kinds of a request's fields (2.3) and reads each once. */
function readRequest(request) {
  if (request === undefined || request === null) return {};
  if (typeof request !== 'object') refuse('TypeError', 'a request is an object');
  const { maxVersion = null, device = null, copy = null, stream = null, native = null } = request;
  if (maxVersion !== null) {
    const isVersion = Array.isArray(maxVersion) && maxVersion.length === 2 && maxVersion.every(isCount);
    if (!isVersion) refuse('TypeError', 'maxVersion is [major, minor]');
  }
  if (device !== null && !(isCount(device.type) && isCount(device.id))) refuse('TypeError', 'device is { type, id }');
  if (copy !== null && typeof copy !== 'boolean') refuse('TypeError', 'copy is a boolean');
  if (stream !== null && typeof stream !== 'bigint') refuse('TypeError', 'stream is a bigint');
  if (![null, true, false, 'only'].includes(native)) refuse('TypeError', "native is a boolean or 'only'");
  return { maxVersion, device, copy, stream, native };
}

export class PlainTensor {
  #memory;
  #leave;

  constructor(memory, fields) {
    this.#memory = memory;
    Object.assign(this, fields); // dtype, shape, strides, bitOffset, isPadded, isReadOnly
    this.#leave = once(() => memory.leave());
    lost.register(this, this.#leave);
  }

  static fromBytes(bytes, shape, dtype, { isPadded = false, isReadOnly = false } = {}) {
    if (!WIDTHS[dtype.code]?.includes(dtype.bits)) refuse('TypeError', 'no such dtype');
    const fields = {
      dtype: { ...dtype },
      shape: [...shape],
      strides: rowMajor(shape),
      bitOffset: 0,
      isPadded,
      isReadOnly,
    };
    const { buffer } = bytes.slice();
    // Gives the memory back at once instead of waiting for the collector.
    return new PlainTensor(new Memory(buffer, () => structuredClone(buffer, { transfer: [buffer] })), fields);
  }

  /** A view that shares the memory. `first` counts elements from the first of this tensor. */
  view(shape, strides, first = 0) {
    const memory = this.#live();
    memory.users++;
    const bitOffset = this.bitOffset + first * widthOf(this.dtype, this.isPadded);
    return new PlainTensor(memory, { ...this, shape: [...shape], strides: [...strides], bitOffset });
  }

  get #width() {
    return widthOf(this.dtype, this.isPadded);
  }

  #live() {
    if (this.disposed) refuse('BufferError', 'the tensor was disposed');
    return this.#memory;
  }

  /** The elements in row-major order without gaps. */
  bytes() {
    const { buffer } = this.#live();
    if (bufferLength(buffer) === 0 && !this.shape.includes(0)) refuse('BufferError', 'the buffer was detached');
    return pack(new Uint8Array(buffer), this.bitOffset, this.#width, places(this.shape, this.strides));
  }

  write(index, value) {
    if (this.isReadOnly) refuse('BufferError', 'the tensor is read-only');
    const place = places(this.shape, this.strides)[index];
    new DataView(this.#live().buffer).setFloat32((this.bitOffset + place * this.#width) / 8, value, true);
  }

  dispose() {
    this.disposed = true;
    this.#leave();
  }

  [DLPACK_DEVICE]() {
    return { type: 1, id: 0 };
  }

  [DLPACK](request) {
    const { maxVersion, device, copy, stream, native } = readRequest(request);
    const memory = this.#live();
    if (maxVersion && maxVersion[0] < 1) refuse('BufferError', 'DLPack 1.x only');
    if (device && device.type !== 1) refuse('BufferError', 'host memory only');
    if (stream !== undefined && stream !== null) refuse('BufferError', 'host memory has no streams');
    if (native === 'only') refuse('BufferError', 'a JavaScript buffer only');
    const isInsideByte = this.bitOffset % 8 !== 0;
    if (isInsideByte && copy === false) refuse('BufferError', 'the view starts inside a byte');
    const padded = this.isPadded ? IS_PADDED : 0;
    const common = { version: [1, 3], shape: [...this.shape], dtype: { ...this.dtype }, device: { type: 1, id: 0 } };
    if (copy === true || isInsideByte) {
      const data = this.bytes().buffer;
      const strides = rowMajor(this.shape);
      return { ...common, flags: IS_COPIED | padded, data, byteOffset: 0, strides, deleter: null };
    }
    memory.users++;
    const deleter = once(() => memory.leave());
    lost.register(deleter, () => memory.leave(), deleter); // 5.7: nobody consumes it
    return {
      ...common,
      flags: (this.isReadOnly ? READ_ONLY : 0) | padded,
      data: memory.buffer,
      byteOffset: this.bitOffset / 8,
      strides: [...this.strides],
      deleter() {
        lost.unregister(deleter);
        deleter();
      },
    };
  }
}

const ownSet = new WeakSet();

/** The set of 5.1, or one of this library where there can be none (5.8). */
function consumedSet() {
  const found = globalThis[CONSUMED];
  if (found === undefined) {
    try {
      const value = new WeakSet();
      Object.defineProperty(globalThis, CONSUMED, { value, writable: true, configurable: true });
      return value;
    } catch {
      return ownSet;
    }
  }
  try {
    WeakSet.prototype.has.call(found, {});
    return found;
  } catch {
    return ownSet;
  }
}

/** Takes the tensor of another library. */
export function take(producer, { copy = null, device = null } = {}) {
  const method = producer?.[DLPACK];
  if (typeof method !== 'function') refuse('TypeError', 'no producer');
  const managed = method.call(producer, { maxVersion: [1, 3], copy, device });
  if (typeof managed !== 'object' || managed === null) refuse('TypeError', 'no managed tensor');
  const set = consumedSet();
  const isKnown = set.has(managed);
  const deleter = managed.deleter; // first, so that the rest can be released (3.1)
  if (isKnown && deleter != null) refuse('BufferError', 'consumed before');
  if (deleter != null && typeof deleter !== 'function') refuse('TypeError', 'deleter is a function');
  if (deleter != null) set.add(managed);
  const release = once(() => deleter?.call(managed));
  try {
    const fields = read(managed, { copy, device });
    if (deleter == null && fields.isCopied) {
      if (isKnown) refuse('BufferError', 'consumed before');
      set.add(managed);
    }
    return adopt(fields, release, copy);
  } catch (error) {
    try {
      release();
    } catch {
      // the first error is the one to report (5.2)
    }
    throw error;
  }
}

/** Reads each field once and checks it (section 3). */
function read(managed, request) {
  const { version } = managed;
  const isVersion = Array.isArray(version) && version.length === 2 && version.every(isCount);
  if (!isVersion || version[0] !== 1) refuse('BufferError', 'DLPack 1.x only');
  const { flags, data, byteOffset, shape, strides: sent, dtype, device } = managed;
  const isFlags = isCount(flags) || (typeof flags === 'bigint' && flags >= 0n && flags < 1n << 64n);
  if (!isFlags) refuse('TypeError', 'flags are a non-negative integer');
  if (!isCount(byteOffset)) refuse('TypeError', 'byteOffset is a non-negative integer');
  if (!Array.isArray(shape) || shape.length > 64) refuse('TypeError', 'shape is an Array of up to 64 lengths');
  const lengths = Array.from(shape);
  if (!lengths.every(isCount)) refuse('TypeError', 'lengths are non-negative integers');
  const product = lengths.reduce((rest, length) => rest * BigInt(length || 1), 1n);
  if (product > BigInt(Number.MAX_SAFE_INTEGER)) refuse('BufferError', 'too many elements');
  const hasElements = !lengths.includes(0);
  const strides = sent === undefined || sent === null ? rowMajor(lengths) : sent;
  if (!Array.isArray(strides) || strides.length !== lengths.length) refuse('TypeError', 'one stride for each axis');
  if (!strides.every(Number.isSafeInteger)) refuse('TypeError', 'strides are integers');
  const { code, bits, lanes } = dtype;
  if (!WIDTHS[code]?.includes(bits) || !isCount(lanes) || lanes < 1 || lanes > 65535)
    refuse('TypeError', 'no such dtype');
  const { type, id } = device;
  if (!DEVICE_TYPES.includes(type) || !isCount(id) || id >= 2 ** 31) refuse('BufferError', 'no such device');
  const size = bufferLength(data);
  if (size === null) refuse('TypeError', 'data is an ArrayBuffer');
  if (!HOST_TYPES.includes(type)) refuse('BufferError', 'a buffer is host memory');
  if (request.device !== null && request.device.type !== type) refuse('BufferError', 'on another device');
  if (byteOffset > size) refuse('BufferError', 'byteOffset lies behind data');
  const bitsSet = Number(BigInt(flags) & 7n);
  if (request.copy === false && (bitsSet & IS_COPIED) !== 0) refuse('BufferError', 'a copy that nobody asked for');
  const isPadded = (bitsSet & IS_PADDED) !== 0;
  const own = { code, bits, lanes };
  if (hasElements)
    checkBounds(lengths, strides, BigInt(widthOf(own, isPadded)), BigInt(byteOffset) * 8n, BigInt(size) * 8n);
  return {
    data,
    isCopied: (bitsSet & IS_COPIED) !== 0,
    isMisaligned: hasElements && byteOffset % alignmentOf(own) !== 0,
    dtype: own,
    shape: lengths,
    strides: Array.from(strides),
    bitOffset: byteOffset * 8,
    isPadded,
    isReadOnly: (bitsSet & READ_ONLY) !== 0,
  };
}

/** 3.11, without rounding. */
function checkBounds(shape, strides, width, first, end) {
  let [low, high] = [0n, 0n];
  shape.forEach((length, axis) => {
    const reach = BigInt(length - 1) * BigInt(strides[axis]);
    if (reach < 0n) low += reach;
    else high += reach;
  });
  if (first + low * width < 0n) refuse('BufferError', 'an element lies before data');
  if (first + (high + 1n) * width > end) refuse('BufferError', 'an element lies behind data');
}

/** A tensor over the memory, or over a copy of it. */
function adopt({ data, isCopied, isMisaligned, ...fields }, release, copy) {
  if (isMisaligned && copy === false) refuse('BufferError', 'the elements are misaligned');
  const tensor = new PlainTensor(new Memory(data, release), fields);
  if (!isMisaligned && (copy !== true || isCopied)) return tensor;
  const compact = PlainTensor.fromBytes(tensor.bytes(), fields.shape, fields.dtype, { isPadded: fields.isPadded });
  tensor.dispose();
  return compact;
}
