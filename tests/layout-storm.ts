import { Tensor } from 'dlpack';
import { exportManaged, importManaged } from 'dlpack/native';
import { equal } from './assert.js';

const byte = Tensor.zeros([1, 1], 'uint8');
let lengths = 0;

/** Sends and takes tensors of so many new layouts that native code cannot keep the layouts of earlier tensors. */
export function stormOfLayouts(): void {
  for (let i = 0; i < 10_000; i++) {
    const shape = [++lengths, 1];
    using x = byte.broadcastTo(shape);
    using back = importManaged(exportManaged(x));
    equal(back.shape, shape);
  }
}
