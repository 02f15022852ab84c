/** Nested arrays go into native memory through the wire, in pieces. */

import { type DType, Tensor } from 'dlpack';
import { liveCounts } from 'dlpack/debug';
import { equal, ok, throws } from '../assert.js';
import { collectUntil, test } from '../harness.js';

/** Elements: within one piece, and over several pieces of 16 KiB, with rows that cross their ends. */
const counts = [1, 7, 5000, 40_001];

test('values of every width arrive, whatever the number of pieces', () => {
  const dtypes: DType[] = ['float32', 'float64', 'float16', 'int8', 'int64', 'bool', 'uint4', 'uint1', 'float6_e2m3fn'];
  for (const dtype of dtypes) {
    for (const count of counts) {
      const values = Array.from({ length: count }, (_, i) => (dtype === 'int64' ? BigInt(i % 2) : i % 2));
      using flat = Tensor.from(values, { dtype });
      equal(Array.from(flat, Number), values.map(Number), `${count} of ${dtype}`);
      using rows = Tensor.from([values, values, values], { dtype });
      equal(rows.shape, [3, count]);
      equal(Array.from(rows.slice(2), Number), values.map(Number), `3 rows of ${count} ${dtype}`);
    }
  }
});

test('floats are rounded and NaN has one bit pattern, as with set', () => {
  const values = [0.1, -0, 1e300, Number.NaN, Number.POSITIVE_INFINITY, 3n];
  for (const dtype of ['float32', 'float64'] as const) {
    using tensor = Tensor.from(values, { dtype });
    using other = Tensor.empty([6], dtype);
    for (const [i, value] of values.entries()) other.set(i, value as number);
    const bytes = ({ data }: Tensor) => new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    equal(Array.from(bytes(tensor)), Array.from(bytes(other)), dtype);
  }
});

test('typed arrays keep their bits, short and long', () => {
  const bits = new Uint32Array(100).map((_, i) => (i % 2 === 0 ? 0x7fa00000 + i : i));
  for (const length of [1, 6, 32, 33, 100]) {
    const floats = new Float32Array(bits.buffer, 0, length); // every other number is a NaN with a payload
    using tensor = Tensor.from(floats);
    const { buffer, byteOffset } = tensor.data;
    equal(Array.from(new Uint32Array(buffer, byteOffset, length)), Array.from(bits.subarray(0, length)));
    for (const array of [
      Int8Array.from(bits.subarray(0, length)),
      Uint8ClampedArray.from(bits.subarray(0, length)),
      Float64Array.from(bits.subarray(0, length)),
      BigInt64Array.from(bits.subarray(0, length), (value) => -BigInt(value)),
    ]) {
      using copy = Tensor.from(array);
      const last = array[length - 1];
      new Uint8Array(array.buffer).fill(0);
      equal([copy.shape, copy.get(length - 1)], [[length], last], 'a copy');
    }
  }
});

test('elements that are wider than a piece', () => {
  const lane = Array.from({ length: 20_000 }, (_, i) => i);
  using tensor = Tensor.from([lane, lane], { dtype: 'float32x20000' });
  equal([tensor.shape, (tensor.get(1) as readonly number[])[19_999]], [[2], 19_999]);
});

test('a bad value in a late piece releases the memory', async () => {
  ok(await collectUntil(() => liveCounts().storages === 0));
  const values: unknown[] = new Array(40_000).fill(1);
  values[39_000] = 'text';
  throws('TypeError', 'number', () => Tensor.from(values as number[], { dtype: 'float32' }));
  values[39_000] = [1];
  throws('TypeError', 'number', () => Tensor.from(values as number[], { dtype: 'float32' }));
  throws('LayoutError', 'equal length', () => Tensor.from([new Array(9000).fill(1), [2]], { dtype: 'float32' }));
  equal(liveCounts().storages, 0);
});

test('a getter that makes tensors does not disturb the values before and after it', () => {
  const values = new Array<number>(10_000).fill(2);
  Object.defineProperty(values, 5000, {
    get: () => {
      using inner = Tensor.from(new Array(10_000).fill(9), { dtype: 'float32' });
      return inner.get(9999);
    },
  });
  using tensor = Tensor.from(values, { dtype: 'float32' });
  equal([tensor.get(0), tensor.get(4999), tensor.get(5000), tensor.get(5001), tensor.get(9999)], [2, 2, 9, 2, 2]);
  Object.defineProperty(values, 5000, {
    get: () => {
      throw new RangeError('of the getter');
    },
  });
  const messages = new Set<string>();
  for (let i = 0; i < 200; i++) {
    try {
      Tensor.from(values, { dtype: 'float32' }).dispose();
      messages.add('nothing was thrown');
    } catch (error) {
      messages.add((error as Error).message);
    }
  }
  equal([...messages], ['of the getter'], 'and never that the wire is full');
});
