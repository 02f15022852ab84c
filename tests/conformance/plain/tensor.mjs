// A library of tensors in plain JavaScript, written from docs/spec.md alone. Numbers in comments are its rules.
// It exports buffers, and takes buffers and WebAssembly memories.

const READ_ONLY = 1n;
const IS_COPIED = 2n;
const IS_PADDED = 4n;

/** Device types whose memory the host reads and writes (2.4.1). This library calls all of them type 1 (2.4.2). */
const HOST_TYPES = [1, 3, 11, 13, 20];

/** The widths of each type code (3.8). A consumer may refuse others (3.13). */
const WIDTHS = [
  ...Array(2).fill([1, 2, 4, 8, 16, 32, 64, 128]), // int, uint
  [16, 32, 64, 128], // float
  [64], // opaque handle
  [16], // bfloat
  [32, 64, 128], // complex
  [8], // bool
  ...Array(8).fill([8]), // float8
  ...Array(2).fill([6]), // float6
  [4], // float4
];
const COMPLEX = 5;

/** Classes of arrays for `write`, by code and bits. */
const ARRAYS = {
  '0:8': Int8Array,
  '0:16': Int16Array,
  '0:32': Int32Array,
  '1:8': Uint8Array,
  '1:16': Uint16Array,
  '1:32': Uint32Array,
  '2:32': Float32Array,
  '2:64': Float64Array,
};

class BufferError extends Error {
  name = 'BufferError';
}

const isCount = (value) => Number.isSafeInteger(value) && value >= 0;
const isVersion = (value) => Array.isArray(value) && value.length === 2 && isCount(value[0]) && isCount(value[1]);

function check(holds, expected, Kind = TypeError) {
  if (!holds) throw new Kind(`Expected ${expected}`);
}

// Elements and their places

/** Bits from one element to the next. */
function widthOf({ bits, lanes }, isPadded) {
  const width = bits * lanes;
  return isPadded ? Math.ceil(width / 8) * 8 : width;
}

/** Bytes to which the first element is aligned (3.5). */
function alignmentOf({ code, bits }) {
  if (bits < 8) return 1;
  return Math.min(8, bits / (code === COMPLEX ? 16 : 8));
}

function rowMajor(shape) {
  const strides = [];
  let step = 1;
  for (const length of [...shape].reverse()) {
    strides.unshift(step);
    step *= length || 1;
  }
  return strides;
}

/** The index sums of all elements, in row-major order. */
function* placesOf(shape, strides, axis = 0, sum = 0) {
  if (shape.includes(0)) return;
  if (axis === shape.length) yield sum;
  else for (let i = 0; i < shape[axis]; i++) yield* placesOf(shape, strides, axis + 1, sum + i * strides[axis]);
}

/** Are all elements inside the memory? In bigints, because products may be too large for numbers (3.11). */
function isInside({ firstBit, shape, strides, width }, nbytes) {
  if (shape.includes(0)) return true;
  const reaches = shape.map((length, axis) => BigInt(length - 1) * BigInt(strides[axis]));
  const sum = (numbers) => numbers.reduce((total, number) => total + number, 0n);
  const lowest = sum(reaches.filter((reach) => reach < 0n));
  const highest = sum(reaches.filter((reach) => reach > 0n));
  const start = BigInt(firstBit) + lowest * BigInt(width);
  const end = BigInt(firstBit) + (highest + 1n) * BigInt(width);
  return start >= 0n && end <= 8n * BigInt(nbytes);
}

/** Copies `width` bits. Places are in bits, and bit 0 of a byte is its lowest (3.8). */
function copyBits(from, fromBit, to, toBit, width) {
  if (fromBit % 8 === 0 && toBit % 8 === 0 && width % 8 === 0) {
    to.set(from.subarray(fromBit / 8, (fromBit + width) / 8), toBit / 8);
    return;
  }
  for (let i = 0; i < width; i++) {
    const bit = (from[Math.floor((fromBit + i) / 8)] >> ((fromBit + i) % 8)) & 1;
    const mask = 1 << ((toBit + i) % 8);
    const at = Math.floor((toBit + i) / 8);
    to[at] = bit === 1 ? to[at] | mask : to[at] & ~mask;
  }
}

// Memory and its owners

const getterOf = (Class, name) => Object.getOwnPropertyDescriptor(Class.prototype, name).get;
const lengthGetters = [ArrayBuffer, globalThis.SharedArrayBuffer]
  .filter((Class) => Class !== undefined)
  .map((Class) => getterOf(Class, 'byteLength'));
const memoryGetter = globalThis.WebAssembly && getterOf(WebAssembly.Memory, 'buffer');

const attempt = (getter, object) => {
  try {
    return getter.call(object);
  } catch {
    return undefined; // an object of another kind
  }
};

/** Bytes of a buffer of any realm; undefined for anything else (4.1.3). */
function byteLengthOf(data) {
  for (const getter of lengthGetters) {
    const length = attempt(getter, data);
    if (length !== undefined) return length;
  }
  return undefined;
}

/** A buffer or a WebAssembly memory (4.5.3), and who uses it. The last one that lets go of it calls `free`. */
class Memory {
  #users = 0;
  #free;

  constructor(data, free) {
    this.data = data;
    this.isWasm = memoryGetter !== undefined && attempt(memoryGetter, data) !== undefined;
    this.nbytes = byteLengthOf(this.#buffer());
    this.#free = free;
    check(this.nbytes !== undefined, 'an ArrayBuffer, a SharedArrayBuffer or a WebAssembly.Memory as data');
  }

  #buffer() {
    return this.isWasm ? memoryGetter.call(this.data) : this.data;
  }

  /** An array of a fixed length (4.2.1) over the memory as it is now (4.5.2). Throws if that is too short (4.2.3). */
  bytes() {
    return new Uint8Array(this.#buffer(), 0, this.nbytes);
  }

  /** Begins a use, and returns the function that ends it. A second call of that does nothing (5.3). */
  use() {
    this.#users++;
    let isUsed = true;
    return () => {
      if (!isUsed) return;
      isUsed = false;
      if (--this.#users === 0) this.#free();
    };
  }
}

/** Ends the use of a tensor that was collected, or of an export whose deleter was (5.2, 5.7). */
const collected = new FinalizationRegistry((end) => end());

// The tensor, which is a producer

export class PlainTensor {
  #memory;
  #layout;
  #end;

  /** `layout` has shape, strides, dtype, isPadded, width and firstBit, the place of the first element in the memory. */
  constructor(memory, layout, isReadOnly) {
    check(isInside(layout, memory.nbytes), 'elements inside the memory', RangeError);
    this.#memory = memory;
    this.#layout = layout;
    this.isReadOnly = isReadOnly;
    this.#end = memory.use();
    collected.register(this, this.#end, this);
  }

  /** A tensor over a copy of the bytes. It is cleared when nobody uses it any more, so that a later use shows. */
  static fromBytes(bytes, shape, dtype, { isPadded = false, isReadOnly = false } = {}) {
    const own = bytes.slice();
    const layout = { shape: [...shape], strides: rowMajor(shape), dtype, isPadded, firstBit: 0 };
    const memory = new Memory(own.buffer, () => own.fill(0));
    return new PlainTensor(memory, { ...layout, width: widthOf(dtype, isPadded) }, isReadOnly);
  }

  /** A tensor over a buffer, or over a WebAssembly memory, of somebody else. */
  static over(data, shape, dtype, { isPadded = false, byteOffset = 0 } = {}) {
    const layout = { shape: [...shape], strides: rowMajor(shape), dtype, isPadded, firstBit: 8 * byteOffset };
    return new PlainTensor(new Memory(data, () => {}), { ...layout, width: widthOf(dtype, isPadded) }, false);
  }

  get shape() {
    return [...this.#layout.shape];
  }

  /** The elements at other steps, `offset` elements after the first. */
  view(shape, strides, offset = 0) {
    const firstBit = this.#layout.firstBit + offset * this.#layout.width;
    return new PlainTensor(this.#used(), { ...this.#layout, shape, strides, firstBit }, this.isReadOnly);
  }

  /** The elements in row-major order, without gaps. */
  bytes() {
    const { shape, strides, firstBit, width } = this.#layout;
    const from = this.#used().bytes();
    const places = [...placesOf(shape, strides)];
    const to = new Uint8Array(Math.ceil((places.length * width) / 8));
    places.forEach((place, i) => {
      copyBits(from, firstBit + place * width, to, i * width, width);
    });
    return to;
  }

  /** Writes a number to the element at a row-major index. */
  write(index, value) {
    const { shape, strides, firstBit, width, dtype } = this.#layout;
    const Class = ARRAYS[`${dtype.code}:${dtype.bits}`];
    check(!this.isReadOnly, 'memory that may be written');
    check(Class !== undefined && dtype.lanes === 1, 'integers or floats of whole bytes');
    const place = [...placesOf(shape, strides)][index];
    check(place !== undefined, 'an index of an element', RangeError);
    copyBits(new Uint8Array(Class.of(value).buffer), 0, this.#used().bytes(), firstBit + place * width, width);
  }

  dispose() {
    collected.unregister(this);
    this.#memory = null;
    this.#end();
  }

  [Symbol.for('dlpack.device')]() {
    return { type: 1, id: 0 };
  }

  [Symbol.for('dlpack')](request) {
    const { maxVersion, device, copy, stream, native, memory } = fieldsOf(request);
    check(maxVersion === null || maxVersion[0] >= 1, 'a consumer of DLPack 1.x', BufferError);
    check(device === null || device.type === 1, 'device type 1', BufferError);
    check(stream === null, 'no stream, because host memory has none', BufferError);
    check(native !== 'only', 'a consumer of buffers', BufferError);
    // Nothing says at which bit a view starts (3.8), and not every consumer follows memory that grows (4.2.2).
    const canShare = this.#layout.firstBit % 8 === 0 && (!this.#used().isWasm || memory === true);
    check(copy !== false || canShare, 'copy: true or null, because this memory cannot be shared', BufferError);
    return copy === true || !canShare ? this.#exportCopy() : this.#export();
  }

  #export() {
    const { shape, strides, firstBit, dtype, isPadded } = this.#layout;
    const end = this.#memory.use();
    const deleter = () => end();
    collected.register(deleter, end);
    return {
      version: [1, 3],
      flags: Number((this.isReadOnly ? READ_ONLY : 0n) | (isPadded ? IS_PADDED : 0n)),
      data: this.#memory.data,
      byteOffset: firstBit / 8,
      shape: [...shape],
      strides: [...strides],
      dtype: { ...dtype },
      device: { type: 1, id: 0 },
      deleter,
    };
  }

  #exportCopy() {
    const copy = PlainTensor.fromBytes(this.bytes(), this.#layout.shape, this.#layout.dtype, this.#layout);
    const exported = copy.#export();
    copy.dispose(); // its export holds the memory (5.4)
    return { ...exported, flags: exported.flags | Number(IS_COPIED) };
  }

  #used() {
    check(this.#memory !== null, 'a tensor that was not disposed', Error);
    return this.#memory;
  }
}

/** Reads each field of a request once: null where it is absent (2.3.1), an error if it has the wrong kind (2.3.3). */
function fieldsOf(request) {
  check(request === undefined || typeof request === 'object', 'an object as request');
  const { maxVersion, device, copy, stream, native, memory } = request ?? {};
  const fields = { maxVersion: null, device: null, copy: copy ?? null, stream: stream ?? null, native: native ?? null };
  if (maxVersion != null) {
    check(isVersion(maxVersion), 'maxVersion: an Array of two integers');
    fields.maxVersion = maxVersion;
  }
  if (device != null) {
    const { type, id } = device;
    check(typeof type === 'number' && typeof id === 'number', 'device: an object with the numbers type and id');
    fields.device = { type, id };
  }
  check([null, true, false].includes(fields.copy), 'copy: true, false or null');
  check(fields.stream === null || typeof fields.stream === 'bigint', 'stream: a bigint');
  check([null, true, false, 'only'].includes(fields.native), "native: true, false or 'only'");
  return { ...fields, memory: memory ?? null };
}

// The consumer

/** A tensor over the memory of another library, or over a copy of it. */
export function take(producer, { copy = null, device = null } = {}) {
  const method = producer?.[Symbol.for('dlpack')];
  check(typeof method === 'function', 'an object with the method Symbol.for("dlpack")');
  const managed = Reflect.apply(method, producer, [{ maxVersion: [1, 3], copy, device, memory: true }]);
  check(Object(managed) === managed, 'a managed tensor');
  const deleter = managed.deleter ?? null; // before all others (3.1)
  if (deleter !== null) recordConsumed(managed);
  check(deleter === null || typeof deleter === 'function', 'a function as deleter');
  let isReleased = deleter === null;
  const release = () => {
    if (isReleased) return;
    isReleased = true;
    deleter.call(managed);
  };
  try {
    const { memory, layout, isReadOnly, isCopied } = read(managed, deleter !== null, copy, device, release);
    const mustCopy = !isAligned(layout) || (copy === true && !isCopied);
    check(!mustCopy || copy !== false, 'aligned elements, because of copy: false');
    const tensor = new PlainTensor(memory, layout, isReadOnly);
    if (!mustCopy) return tensor;
    const copied = PlainTensor.fromBytes(tensor.bytes(), layout.shape, layout.dtype, layout);
    tensor.dispose();
    return copied;
  } catch (error) {
    try {
      release();
    } catch {} // the first error counts (5.2)
    throw error;
  }
}

/** Reads each property of a managed tensor once, and checks it. */
function read(managed, isRecorded, copy, requested, release) {
  const { version } = managed;
  check(isVersion(version) && version[0] === 1, 'DLPack 1.x'); // before any other is read (3.2)
  const { flags } = managed;
  check(isCount(flags) || (typeof flags === 'bigint' && BigInt.asUintN(64, flags) === flags), 'flags of 64 bits');
  const has = (bit) => (BigInt(flags) & bit) !== 0n;
  if (has(IS_COPIED) && !isRecorded) recordConsumed(managed);
  check(copy !== false || !has(IS_COPIED), 'the memory itself, because of copy: false');
  const { data, byteOffset } = managed;
  const memory = new Memory(data, release);
  check(isCount(byteOffset) && byteOffset <= memory.nbytes, 'a byteOffset inside data');
  const shape = lengthsOf(managed.shape);
  const strides = stridesOf(managed.strides ?? rowMajor(shape), shape.length);
  const dtype = dtypeOf(managed.dtype);
  const { type, id } = managed.device;
  check(HOST_TYPES.includes(type) && isCount(id) && id < 2 ** 31, 'the device of a buffer');
  check(requested === null || requested.type === type, 'the requested device'); // host devices have no ids (2.4.1)
  const isPadded = has(IS_PADDED);
  const layout = { shape, strides, dtype, isPadded, width: widthOf(dtype, isPadded), firstBit: byteOffset * 8 };
  return { memory, layout, isReadOnly: has(READ_ONLY), isCopied: has(IS_COPIED) };
}

/** A copy that has no holes, and cannot change after the check. */
function numbersOf(array, name) {
  check(Array.isArray(array), `an Array as ${name}`);
  return Array.from(array);
}

function lengthsOf(shape) {
  const lengths = numbersOf(shape, 'shape');
  check(lengths.length <= 64 && lengths.every(isCount), 'at most 64 lengths');
  const count = lengths.reduce((product, length) => product * BigInt(length || 1), 1n);
  check(count <= Number.MAX_SAFE_INTEGER, 'at most 2^53 - 1 elements');
  return lengths;
}

function stridesOf(strides, axes) {
  const steps = numbersOf(strides, 'strides');
  check(steps.length === axes && steps.every(Number.isSafeInteger), 'a stride for each axis');
  return steps;
}

function dtypeOf({ code, bits, lanes }) {
  check(isCount(code) && WIDTHS[code]?.includes(bits), 'a type code of DLPack 1.3, and a width that it has');
  check(isCount(lanes) && lanes >= 1 && lanes <= 65535, '1 to 65535 lanes');
  return { code, bits, lanes };
}

const isAligned = ({ shape, dtype, firstBit }) => shape.includes(0) || firstBit % (8 * alignmentOf(dtype)) === 0;

const ownSet = new WeakSet();

/** Throws if somebody in this realm consumed the managed tensor before (5.1). */
function recordConsumed(managed) {
  const set = consumedSet();
  check(!set.has(managed), 'a managed tensor that was not consumed before');
  set.add(managed);
}

/** The set of this realm, or one of our own where that is not possible (5.8). */
function consumedSet() {
  const key = Symbol.for('dlpack.consumed');
  if (globalThis[key] === undefined) {
    Reflect.defineProperty(globalThis, key, { value: new WeakSet(), writable: true, configurable: true });
  }
  const found = globalThis[key];
  return attempt(() => WeakSet.prototype.has.call(found, ownSet)) === undefined ? ownSet : found;
}
