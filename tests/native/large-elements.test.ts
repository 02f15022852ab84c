/** Elements of large memory: read without a buffer, because its bytes would cause a garbage collection. */

import { constants } from 'node:buffer';
import { type DType, Tensor } from 'dlpack';
import { liveCounts } from 'dlpack/debug';
import { equal, ok, throws } from '../assert.js';
import { test } from '../harness.js';

const LARGE = 1 << 25;
const forbidsBuffers = process.env.DLPACK_NO_EXTERNAL_BUFFERS === '1';

/** Values at both ends and in the middle of new large memory, which is written without a buffer. */
const cases: readonly (readonly [dtype: DType, bits: number, values: readonly unknown[]])[] = [
  ['uint8', 8, [1, 255, 7]],
  ['int16', 16, [-1, 32767, 5]],
  ['int64', 64, [-1n, 2n ** 62n, 3n]],
  ['float32', 32, [1.5, -2, 0.25]],
  ['float64', 64, [1.5, Number.NaN, Number.POSITIVE_INFINITY]],
  ['bfloat16', 16, [1.5, -2, 0.25]],
  ['bool', 8, [true, false, true]],
  ['complex128', 128, [{ re: 1, im: -2 }, { re: 0, im: 3 }, { re: 4, im: 5 }]], // biome-ignore format: one line
  ['uint4', 4, [15, 3, 9]],
  ['float6_e2m3fn', 6, [1.5, -2, 0.25]],
];

for (const [dtype, bits, values] of cases) {
  test(`${dtype}: the same values without a buffer and with it`, () => {
    const count = Math.ceil((LARGE * 8) / bits / 12) * 12 + 3;
    using x = Tensor.empty([count], dtype);
    using ends = Tensor.from(values as never, { dtype: dtype as never });
    const middle = count / 2 - ((count / 2) % 12) + 1; // inside a byte of packed types
    for (const at of [0, middle, count - 3]) {
      using part = x.slice([at, at + 3]);
      part.copyFrom(ends);
    }
    const { reported } = liveCounts();
    const read = (): unknown[] => [x.get(0), x.get(middle), x.get(middle + 1), x.get(count - 1), x.get(-2)];
    const expected = [values[0], values[0], values[1], values[2], values[1]];
    equal(read(), expected);
    equal(liveCounts().reported, reported, 'no buffer was made');
    using view = x.flip();
    equal([view.get(0), view.get(count - 1)], [values[2], values[0]]);
    throws('IndexError', '', () => x.get(count));
    for (let i = 0; i < 20; i++) x.get(i);
    equal(liveCounts().reported, reported, 'many elements make no buffer, either');
    void x.data;
    if (!forbidsBuffers) ok(liveCounts().reported < reported, 'the runtime counts the bytes of the buffer');
    equal(read(), expected);
  });
}

test('vectors, and writes by other ways, which the next read shows', () => {
  using x = Tensor.empty([LARGE / 64], 'float32x16');
  const vector = Array.from({ length: 16 }, (_, i) => i);
  using one = Tensor.from([vector], { dtype: 'float32x16' } as never);
  using last = x.slice([-1, LARGE / 64]);
  last.copyFrom(one as never);
  equal([...(x.get(-1) as unknown as number[])], vector);
  using wide = Tensor.zeros([LARGE / 512 + 1], 'float32x128');
  equal((wide.get(0) as unknown as number[]).length, 128);
  using y = Tensor.zeros([LARGE], 'uint8');
  equal(y.get(5), 0);
  y.set(5, 9);
  equal(y.get(5), 9);
  y.data[5] = 8;
  equal(y.get(5), 8);
  y.dispose();
  throws('DisposedError', '', () => y.get(5));
});

test('memory that is too large for an ArrayBuffer of some engines is printed', () => {
  using x = Tensor.zeros([2 ** 32 + 8], 'uint8'); // no page of it is used before it is written
  using end = x.slice([-1]);
  using value = Tensor.from([7], { dtype: 'uint8' });
  end.copyFrom(value);
  const { reported } = liveCounts();
  equal(String(x), 'Tensor uint8 [4294967304] cpu\n[0, 0, 0, ..., 0, 0, 7]');
  equal(liveCounts().reported, reported, 'no buffer was made');
  if (constants.MAX_LENGTH > x.nbytes || forbidsBuffers) return;
  throws('BufferError', 'read a copy() of a slice', () => x.data);
  throws('BufferError', 'write a slice with fill() or copyFrom()', () => x.set(-1, 8));
  equal(end.fill(9).copy().toArray(), [9]);
});
