import { Tensor } from 'dlpack';
import { equal, ok, throws } from '../assert.js';
import { test } from '../harness.js';

/** Deterministic numbers, so that a failure can be repeated. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 4294967296;
  };
}

const arange = (...shape: number[]) => {
  const size = shape.reduce((a, b) => a * b, 1);
  return Tensor.wrap(Int32Array.from({ length: size }, (_, i) => i)).reshape(shape);
};

test('contiguity: empty tensors are contiguous, and axes of length one do not count', () => {
  equal(arange(2, 3).isContiguous, true);
  equal(arange(2, 3).transpose().isContiguous, false);
  equal(arange(1, 3).transpose().isContiguous, true);
  equal(Tensor.wrap(new Int32Array(9), { shape: [3, 0, 2], strides: [7, 5, 3] }).isContiguous, true);
  equal(Tensor.wrap(new Int32Array(9), { shape: [1, 3], strides: [5, 1] }).isContiguous, true);
  equal(Tensor.wrap(new Int32Array(9), { shape: [3], strides: [-1], byteOffset: 8 }).isContiguous, false);
  equal(arange().isContiguous, true);
});

test('transpose reverses, permutes, and refuses axes that are not a permutation', () => {
  const x = arange(2, 3, 4);
  equal(x.transpose().shape, [4, 3, 2]);
  equal(x.transpose([1, 0, 2]).strides, [4, 12, 1]);
  equal(x.transpose([-1, 0, 1]).shape, [4, 2, 3]);
  equal(x.transpose([2, 0, 1]).get(3, 1, 2), x.get(1, 2, 3));
  throws('ValueError', 'permutation', () => x.transpose([0, 0, 1]));
  throws('ValueError', 'permutation', () => x.transpose([0, 1]));
  throws('IndexError', 'axis', () => x.transpose([0, 1, 3]));
});

test('slices follow Python: clamping, negative bounds, negative steps, indices that drop the axis', () => {
  const x = arange(10);
  equal(x.slice([2, 5]).toArray(), [2, 3, 4]);
  equal(x.slice([null, null, 3]).toArray(), [0, 3, 6, 9]);
  equal(x.slice([null, null, -1]).toArray(), [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
  equal(x.slice([-3, null]).toArray(), [7, 8, 9]);
  equal(x.slice([8, 2, -2]).toArray(), [8, 6, 4]);
  equal(x.slice([20, 30]).toArray(), []);
  equal(x.slice([5, 2]).toArray(), []);
  equal(x.slice([-100, 100]).size, 10);
  equal(x.slice(-1).item(), 9);
  equal(arange(3, 4).slice(1, [1, 3]).toArray(), [5, 6]);
  equal(arange(3, 4).slice(null, 2).toArray(), [2, 6, 10]);
  throws('IndexError', '-10 to 9', () => x.slice(10));
  throws('IndexError', 'at most 1', () => x.slice(0, 0));
  throws('ValueError', 'other than zero', () => x.slice([0, 5, 0]));
  throws('TypeError', 'start', () => x.slice([0.5, 2]));
});

test('slices equal a reference over random shapes, bounds and steps', () => {
  const next = random(7);
  for (let round = 0; round < 400; round++) {
    const length = Math.floor(next() * 7);
    const bound = () => (next() < 0.25 ? null : Math.floor(next() * 20) - 10);
    const step = Math.floor(next() * 7) - 3 || 1;
    const [start, stop] = [bound(), bound()];
    // Python's definition, one index at a time.
    const clamp = (at: number) =>
      step > 0 ? Math.min(Math.max(at, 0), length) : Math.min(Math.max(at, -1), length - 1);
    const from = start === null ? (step > 0 ? 0 : length - 1) : clamp(start < 0 ? start + length : start);
    const to = stop === null ? (step > 0 ? length : -1) : clamp(stop < 0 ? stop + length : stop);
    const expected: number[] = [];
    for (let i = from; step > 0 ? i < to : i > to; i += step) expected.push(i);
    equal(arange(length).slice([start, stop, step]).toArray(), expected, `${length} [${start}, ${stop}, ${step}]`);
  }
});

test('a shape whose getter disposes the tensor', () => {
  const x = arange(2, 3);
  const y = x.transpose();
  x.dispose();
  const shape = Object.defineProperty([0], 0, {
    get() {
      y.dispose();
      return 6;
    },
  });
  throws('DisposedError', 'live tensor', () => y.reshape(shape));
});

test('reshape shares memory whenever strides can express it', () => {
  const x = arange(4, 6);
  equal(x.reshape([2, 2, 6]).strides, [12, 6, 1]);
  equal(x.reshape([-1]).shape, [24]);
  equal(x.reshape([3, -1, 2]).shape, [3, 4, 2]);
  equal(x.transpose().reshape([6, 2, 2], { copy: false }).strides, [1, 12, 6]);
  equal(x.slice(null, [null, null, 2]).reshape([2, 2, 3], { copy: false }).strides, [12, 6, 2]);
  equal(x.reshape([1, 24, 1]).shape, [1, 24, 1]);
  equal(arange().reshape([1, 1]).shape, [1, 1]);
  equal(Tensor.zeros([0, 3], 'int8').reshape([7, 0]).shape, [7, 0]);
  throws('LayoutError', 'without a copy', () => x.transpose().reshape([24], { copy: false }));
  equal(x.transpose().reshape([24]).get(1), 6, 'a copy where strides cannot');
  const copy = x.reshape([24], { copy: true });
  copy.set(1, -1);
  equal([copy.isContiguous, x.reshape([24]).get(1)], [true, 1], 'a copy because it was requested');
  throws('LayoutError', '24 elements', () => x.reshape([5, 5]));
  throws('LayoutError', '24 elements', () => x.reshape([7, -1]));
  throws('ValueError', 'at most one length of -1', () => x.reshape([-1, -1]));
});

test('reshape equals a copy over random views', () => {
  const next = random(11);
  const shapes = [[24], [2, 12], [4, 6], [2, 3, 4], [1, 24], [3, 1, 8], [2, 2, 2, 3]];
  for (let round = 0; round < 300; round++) {
    const pick = () => shapes[Math.floor(next() * shapes.length)] as number[];
    let x = arange(48).slice([null, null, 2]).reshape(pick());
    if (next() < 0.5) x = x.transpose();
    if (next() < 0.3) x = x.flip();
    const target = pick();
    const flat = [...x];
    equal([...x.reshape(target)], flat, `[${x.shape}] by [${x.strides}] to [${target}]`);
  }
});

test('broadcast, squeeze, expand, flip', () => {
  const x = arange(3, 1);
  equal(x.broadcastTo([2, 3, 4]).strides, [0, 1, 0]);
  equal(x.broadcastTo([3, 2]).toArray(), [
    [0, 0],
    [1, 1],
    [2, 2],
  ]);
  throws('LayoutError', 'broadcasts', () => x.broadcastTo([4, 2]));
  throws('LayoutError', 'broadcasts', () => x.broadcastTo([3]));
  equal(arange(1, 3, 1).squeeze().shape, [3]);
  equal(arange(1, 3, 1).squeeze(-1).shape, [1, 3]);
  throws('LayoutError', 'length 1', () => arange(1, 3).squeeze(1));
  equal(arange(2, 3).expandDims(0).shape, [1, 2, 3]);
  equal(arange(2, 3).expandDims(-1).shape, [2, 3, 1]);
  throws('IndexError', 'axis', () => arange(2).expandDims(3));
  equal(arange(2, 2).flip().toArray(), [
    [3, 2],
    [1, 0],
  ]);
  equal(arange(2, 2).flip(0).toArray(), [
    [2, 3],
    [0, 1],
  ]);
  equal(Tensor.zeros([0, 3], 'int8').flip().byteOffset, 0);
});

test('no view reaches outside its storage', () => {
  const make = (options: object) => () => Tensor.wrap(new Int32Array(6), options as never);
  throws('LayoutError', '28 bytes', make({ shape: [7] }));
  throws('LayoutError', 'there are 24', make({ shape: [2, 3], strides: [4, 1] }));
  throws('LayoutError', 'before its start', make({ shape: [3], strides: [-1] }));
  throws('LayoutError', '28 bytes', make({ shape: [6], byteOffset: 4 }));
  throws('TypeError', 'byteOffset', make({ byteOffset: -4 }));
  throws('BufferError', 'aligned', make({ shape: [1], byteOffset: 2 }));
  throws('LayoutError', '2^53', make({ shape: [2 ** 40, 2 ** 20] }));
  throws('LayoutError', '2^53', make({ shape: [3], strides: [2 ** 53 - 1] }));
  throws('ValueError', '2^53', make({ shape: [2 ** 53] }));
  throws('ValueError', 'zero or more', make({ shape: [-2] }));
  throws('LayoutError', '2 strides', make({ shape: [2, 3], strides: [1] }));
  throws('LayoutError', '64 axes', make({ shape: new Array(65).fill(1) }));
  throws('TypeError', 'shape[0]', make({ shape: ['2'] }));
  ok(make({ shape: [0, 2 ** 20] })().size === 0);
  // An index into an axis of an empty tensor must not move the offset out of the memory.
  const empty = Tensor.wrap(new Int32Array(0), { shape: [0, 4] });
  equal(empty.slice(null, 3).byteOffset, 0);
});
