/** A tensor library of another author: it implements the protocol without depending on this package. */

import { fromDLPack } from 'dlpack';

interface Request {
  maxVersion?: readonly [major: number, minor: number] | null;
  device?: { type: number; id: number } | null;
  copy?: boolean | null;
  stream?: bigint | null;
  native?: boolean | 'only' | null;
}

export class Matrix {
  readonly values: Float32Array;
  constructor(
    readonly rows: number,
    readonly columns: number,
  ) {
    this.values = new Float32Array(rows * columns);
  }

  [Symbol.for('dlpack.device')]() {
    return { type: 1, id: 0 };
  }

  [Symbol.for('dlpack')](request?: Request | null) {
    const isCopy = answerable(request ?? {});
    const values = isCopy ? this.values.slice() : this.values;
    return {
      version: [1, 3],
      flags: isCopy ? 2 : 0,
      data: values.buffer,
      byteOffset: values.byteOffset,
      shape: [this.rows, this.columns],
      strides: [this.columns, 1],
      dtype: { code: 2, bits: 32, lanes: 1 },
      device: { type: 1, id: 0 },
      deleter: null, // the collector keeps the buffer as long as the consumer does
    };
  }
}

/** Throws unless host memory in a JavaScript buffer answers the request. Returns whether the consumer wants a copy. */
function answerable(request: Request): boolean {
  if (typeof request !== 'object') throw refusal('TypeError', 'request: an object');
  const { maxVersion = null, device = null, copy = null, stream = null, native = null } = request;
  // A wrong value must not look like an absent one: `copy: 1` would share memory with a consumer that wants a copy.
  if (maxVersion !== null && !isPair(maxVersion)) throw refusal('TypeError', 'maxVersion: [major, minor]');
  if (device !== null && !isPair([device.type, device.id])) throw refusal('TypeError', 'device: { type, id }');
  if (copy !== null && typeof copy !== 'boolean') throw refusal('TypeError', 'copy: a boolean');
  if (stream !== null && typeof stream !== 'bigint') throw refusal('TypeError', 'stream: a bigint');
  if (native !== null && typeof native !== 'boolean' && native !== 'only') {
    throw refusal('TypeError', "native: a boolean or 'only'");
  }
  if (maxVersion !== null && maxVersion[0] < 1) throw refusal('BufferError', 'DLPack 1.x only');
  if (device !== null && device.type !== 1) throw refusal('BufferError', 'host memory only');
  if (stream !== null) throw refusal('BufferError', 'host memory has no streams');
  if (native === 'only') throw refusal('BufferError', 'a JavaScript buffer only');
  return copy === true;
}

function isPair(values: unknown): boolean {
  return Array.isArray(values) && values.length === 2 && values.every((n) => Number.isSafeInteger(n) && n >= 0);
}

/** Libraries do not share classes of errors, so an error carries its name as `tag`. */
function refusal(tag: 'TypeError' | 'BufferError', expected: string): Error {
  return Object.assign(new Error(`Expected ${expected}`), { tag });
}

const matrix = new Matrix(2, 2);
const x = fromDLPack(matrix);
matrix.values[3] = 42;
console.log(x.get(1, 1)); // 42: the same memory
const copy = fromDLPack(matrix, { copy: true });
matrix.values[3] = 0;
console.log(copy.get(1, 1)); // 42: a copy
