/** A model that takes a while: `count` products of matrices, one after the other, which a run can stop between. */

import { makeGraph, type Node } from '../interop/libraries/model.js';

export function chain(count: number, size: number): Uint8Array {
  const nodes: Node[] = Array.from({ length: count }, (_, i) => ({
    op: 'MatMul',
    inputs: [i === 0 ? 'x' : `t${i}`, 'x'],
    outputs: [i === count - 1 ? 'y' : `t${i + 1}`],
  }));
  const matrix = { tensor: 1, shape: [size, size] };
  return makeGraph({ nodes, inputs: { x: matrix }, outputs: { y: matrix } });
}
