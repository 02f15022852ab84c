/** A program marks the buffer of .data as untransferable and disposes the tensor. Engines abort if native code detaches such a buffer. */

import { markAsUntransferable } from 'node:worker_threads';
import { Tensor } from 'dlpack';
import { equal, ok } from '../../assert.js';
import { collectUntil } from '../../harness.js';

const makers: (() => Tensor)[] = [
  () => Tensor.from([1, 2, 3], { dtype: 'float32' }),
  () => Tensor.adopt(new Float32Array([1, 2, 3])),
  () => Tensor.zeros([3], 'float32').copyFrom(Tensor.from([1, 2, 3])),
];
const left: WeakRef<ArrayBufferLike>[] = [];

function disposeMarked(): void {
  for (const make of makers) {
    const x = make();
    const data = x.data as Float32Array;
    markAsUntransferable(data.buffer);
    left.push(new WeakRef(data.buffer));
    x.dispose();
    ok(x.isDisposed);
    globalThis.gc?.();
    // Detached where the mark has no effect, and alive elsewhere, but never freed memory.
    equal(data.length === 0 || [...data].join() === '1,2,3', true);
  }
}

disposeMarked();
// Node 24 aborts if such a buffer is alive at the end of the process, whichever code made it.
await collectUntil(() => left.every((ref) => ref.deref() === undefined));
console.log('still here');
