import { Tensor } from 'dlpack';
import { equal, ok, throws } from '../assert.js';
import { test } from '../harness.js';

const matrix = () => Tensor.arange(6, 'float32').reshape([2, 3]);

test('share: another owner of the same elements', () => {
  const x = matrix();
  const y = x.share();
  ok(y !== x && y.sharesMemory(x));
  x.set(0, 0, 9);
  equal(y.get(0, 0), 9);
  x.dispose();
  equal(y.get(1, 2), 5);
  y.dispose();
  throws('DisposedError', 'x.share()', () => y.share());
});

test('sharesMemory: views, typed arrays, buffers and wrapped memory share; copies do not', () => {
  const x = matrix();
  for (const same of [x, x.view(), x.transpose(), x.flip(), x.slice(1), x.broadcastTo([2, 2, 3])]) {
    ok(x.sharesMemory(same) && same.sharesMemory(x), String(same.strides));
  }
  for (const other of [x.copy(), x.astype('int8'), Tensor.from(x), matrix()]) {
    ok(!x.sharesMemory(other) && !other.sharesMemory(x), other.dtype);
  }
  const array = new Float32Array(4);
  const wrapped = Tensor.wrap(array.subarray(1, 3));
  ok(
    wrapped.sharesMemory(array) &&
      wrapped.sharesMemory(array.buffer) &&
      wrapped.sharesMemory(new Uint8Array(array.buffer)),
  );
  ok(!wrapped.sharesMemory(array.subarray(3)) && !wrapped.sharesMemory(array.subarray(0, 1)));
  ok(!wrapped.sharesMemory(new Float32Array(4)) && !wrapped.sharesMemory(x));
  ok(wrapped.sharesMemory(Tensor.wrap(array)));
});

test('sharesMemory: parts of one tensor', () => {
  const x = Tensor.arange(8, 'int8');
  ok(!x.slice([0, 4]).sharesMemory(x.slice([4, 8])));
  ok(x.slice([0, 5]).sharesMemory(x.slice([4, 8])));
  ok(
    x
      .slice([4, 8])
      .flip()
      .sharesMemory(x.slice([6, 7])),
  );
  ok(
    !x
      .slice([4, 8])
      .flip()
      .sharesMemory(x.slice([3, 4])),
  );
  ok(matrix().slice(null, 0).sharesMemory(matrix()) === false);
  const half = Tensor.arange(4, 'int4');
  ok(half.slice([0, 1]).sharesMemory(half.slice([1, 2])), 'elements of one byte');
  ok(!half.slice([0, 2]).sharesMemory(half.slice([2, 4])), 'elements of two bytes');
});

test('sharesMemory: nothing shares memory with no elements, and other values are errors', () => {
  const x = matrix();
  ok(!x.sharesMemory(x.slice([0, 0])) && !x.slice([0, 0]).sharesMemory(x));
  const stale = x.share().data;
  x.dispose();
  equal(matrix().sharesMemory(stale), false);
  throws('DisposedError', '', () => x.sharesMemory(matrix()));
  throws('DisposedError', '', () => matrix().sharesMemory(x));
  throws('TypeError', 'a tensor', () => matrix().sharesMemory([1, 2] as never));
});

test('sharesMemory: a SharedArrayBuffer', () => {
  const buffer = new SharedArrayBuffer(8);
  const x = Tensor.wrap(new Int32Array(buffer));
  ok(x.sharesMemory(buffer) && !x.sharesMemory(new SharedArrayBuffer(8)));
});
