/** A producer of float32 matrices: the class of examples/producer.ts and the class in section 8 of docs/spec.md. */

import type { ProducerSubject } from 'dlpack/conformance';

export type MatrixClass = new (rows: number, columns: number) => { readonly values: Float32Array };

export const matrixProducer = (Matrix: MatrixClass): ProducerSubject => ({
  make({ dtype: { code, bits, lanes }, shape, bytes }) {
    if (code !== 2 || bits !== 32 || lanes !== 1 || shape.length !== 2) return null;
    const matrix = new Matrix(...(shape as [number, number]));
    matrix.values.set(new Float32Array(bytes.slice().buffer));
    return matrix;
  },
});
