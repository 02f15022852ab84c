/** A tensor library of another author: it implements the protocol without depending on this package. */

import { fromDLPack } from 'dlpack';

class Matrix {
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

  [Symbol.for('dlpack')](request: { copy?: boolean | null } = {}) {
    const values = request.copy ? this.values.slice() : this.values;
    return {
      version: [1, 3],
      flags: request.copy ? 2 : 0,
      data: values.buffer,
      byteOffset: values.byteOffset,
      shape: [this.rows, this.columns],
      strides: [this.columns, 1],
      dtype: { code: 2, bits: 32, lanes: 1 },
      device: { type: 1, id: 0 },
      deleter: null,
    };
  }
}

const matrix = new Matrix(2, 2);
const x = fromDLPack(matrix);
matrix.values[3] = 42;
console.log(x.get(1, 1)); // 42: the same memory
const copy = fromDLPack(matrix, { copy: true });
matrix.values[3] = 0;
console.log(copy.get(1, 1)); // 42: a copy
