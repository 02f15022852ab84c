import { type BaseDType, type DType, dtypes, parseDType } from 'dlpack';
import { equal, ok } from '../../assert.js';
import { cores } from '../../cores.js';
import { test } from '../../harness.js';
import { type Random, randomFrom } from '../../random.js';

const variants = dtypes.flatMap((base) => [base, `${base}x3` as const]) as DType[];

/** All bits of the memory as one integer: an independent way to address elements, as the standard describes it. */
function bitsAt(memory: Uint8Array, bit: number, width: number): bigint {
  const all = memory.reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
  return (all >> BigInt(bit)) & ((1n << BigInt(width)) - 1n);
}

interface Layout {
  readonly shape: number[];
  readonly strides: number[];
  readonly first: number;
  readonly span: number;
}

/** Some axes, some gaps, some backwards. */
function randomLayout(random: Random): Layout {
  const shape = Array.from({ length: random.between(0, 3) }, () => random.between(1, 4));
  let step = random.between(1, 2);
  let first = 0;
  const strides = shape
    .map((length) => {
      const stride = step;
      step *= length + random.between(0, 1);
      const backwards = random.between(0, 3) === 0;
      if (backwards) first += (length - 1) * stride;
      return backwards ? -stride : stride;
    })
    .reverse();
  return { shape: shape.reverse(), strides, first, span: step };
}

function* indices(shape: readonly number[], prefix: number[] = []): Generator<number[]> {
  if (prefix.length === shape.length) yield prefix;
  else for (let i = 0; i < (shape[prefix.length] as number); i++) yield* indices(shape, [...prefix, i]);
}

for (const [core, { Tensor }] of cores) {
  test(`${core}: get, set, iteration, toArray and copy of every dtype, packed and padded, in any layout`, () => {
    const random = randomFrom(1);
    for (const dtype of variants) {
      const { isSubByte, itemBits, bits, lanes, base } = parseDType(dtype);
      for (const padded of isSubByte ? [false, true] : [false]) {
        for (let round = 0; round < 6; round++) {
          const layout = randomLayout(random);
          const stride = padded ? Math.ceil(itemBits / 8) * 8 : itemBits;
          // A wrapped tensor starts on a byte; views that do not are below.
          if ((layout.first * stride) % 8 !== 0) continue;
          const memory = random.bytes(Math.ceil(((layout.first + layout.span + 8) * stride) / 8));
          if (base === 'bool') for (let i = 0; i < memory.length; i++) memory[i] = (memory[i] as number) & 1;
          const { shape, strides } = layout;
          const byteOffset = (layout.first * stride) / 8;
          const tensor = Tensor.wrap(memory, { dtype, padded, shape, strides, byteOffset });
          const expected = [...indices(shape)].map((index) => {
            const at = layout.first + index.reduce((sum, i, axis) => sum + i * (strides[axis] as number), 0);
            const values = Array.from({ length: lanes }, (_, lane) => {
              const raw = bitsAt(memory, at * stride + lane * bits, bits);
              const one = new Uint8Array(16);
              for (let i = 0; i < 16; i++) one[i] = Number((raw >> BigInt(8 * i)) & 255n);
              return Tensor.wrap(one, { dtype: base as BaseDType, shape: [] }).item();
            });
            return lanes === 1 ? values[0] : values;
          });
          equal(
            [...indices(shape)].map((index) => tensor.get(...index)),
            expected,
            `${dtype} get`,
          );
          equal([...tensor], expected, `${dtype} iteration`);
          equal(shape.length === 0 ? [tensor.toArray()] : flatten(tensor.toArray(), shape.length), expected, dtype);
          using copy = tensor.copy();
          equal([...copy], expected, `${dtype} copy`);
          ok(copy.isContiguous && copy.byteOffset === 0);
          equal(copy.nbytes, Math.ceil((copy.size * stride) / 8));
        }
      }
    }
  });

  test(`${core}: writes of every dtype keep the bits of their neighbours`, () => {
    const random = randomFrom(2);
    for (const dtype of variants) {
      const info = parseDType(dtype);
      const memory = random.bytes(info.itemBits * 2);
      if (info.base === 'bool') memory.fill(1);
      const count = 9;
      const tensor = Tensor.wrap(memory, { dtype, shape: [count] });
      const source = Tensor.wrap(info.base === 'bool' ? new Uint8Array(64) : random.bytes(info.itemBits * 2), {
        dtype,
        shape: [count],
      });
      for (let i = 1; i < count; i += 3) {
        const before = memory.slice();
        const value = source.get(i) as never;
        tensor.set(i, value);
        equal(tensor.get(i), value, dtype);
        const start = i * info.itemBits;
        const bits = before.length * 8;
        equal(bitsAt(memory, 0, start), bitsAt(before, 0, start), `${dtype}, bits before`);
        const end = start + info.itemBits;
        equal(bitsAt(memory, end, bits - end), bitsAt(before, end, bits - end), `${dtype}, bits behind`);
      }
      // A range that starts and ends inside bytes, backwards.
      const before = memory.slice();
      const part = tensor.slice([6, 2, -1]);
      part.copyFrom(source.slice([5, 9]));
      equal([...part], [...source.slice([5, 9])], `${dtype} copyFrom`);
      const [start, end] = [3 * info.itemBits, 7 * info.itemBits];
      equal(bitsAt(memory, 0, start), bitsAt(before, 0, start), `${dtype}, bits before`);
      equal(bitsAt(memory, end, 99), bitsAt(before, end, 99), `${dtype}, bits behind`);
    }
  });

  test(`${core}: fill and item of every dtype`, () => {
    const random = randomFrom(4);
    for (const dtype of variants) {
      const one = Tensor.wrap(new Uint8Array(random.bytes(64).map((byte) => byte & 1)), { dtype, shape: [] });
      using target = Tensor.empty([3, 5], dtype);
      const value = one.item() as never;
      target.fill(value);
      equal([...target], new Array(15).fill(value), dtype);
    }
  });
}

function flatten(value: unknown, depth: number): unknown[] {
  return depth === 0 ? [value] : (value as unknown[]).flatMap((row) => flatten(row, depth - 1));
}
