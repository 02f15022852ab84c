import { openGguf } from 'dlpack/files';
import { equal, throws } from '../assert.js';
import { test } from '../harness.js';
import { concat, fileOf, gguf, ggufString, u32, u64 } from './make.js';

const f32 = (...values: number[]) => new Uint8Array(Float32Array.from(values).buffer);

test('metadata of every type', () => {
  const bytes = (size: number, set: (view: DataView) => void): Uint8Array => {
    const out = new Uint8Array(size);
    set(new DataView(out.buffer));
    return out;
  };
  const file = openGguf(
    fileOf(
      gguf(
        [
          ['u8', 0, new Uint8Array([200])],
          ['i8', 1, new Uint8Array([200])],
          ['u16', 2, bytes(2, (v) => v.setUint16(0, 60000, true))],
          ['i16', 3, bytes(2, (v) => v.setInt16(0, -3, true))],
          ['u32', 4, u32(4000000000)],
          ['i32', 5, bytes(4, (v) => v.setInt32(0, -4, true))],
          ['f32', 6, f32(1.5)],
          ['bool', 7, new Uint8Array([1])],
          ['string', 8, ggufString('llama é')],
          ['array', 9, concat(u32(8), u64(2), ggufString('a'), ggufString('b'))],
          ['nested', 9, concat(u32(9), u64(1), u32(4), u64(2), u32(1), u32(2))],
          ['u64', 10, u64(2n ** 63n)],
          ['i64', 11, u64(2n ** 64n - 1n)],
          ['f64', 12, bytes(8, (v) => v.setFloat64(0, 0.1, true))],
        ],
        [],
        new Uint8Array(),
      ),
    ),
  );
  equal(Object.fromEntries(file.metadata), {
    u8: 200,
    i8: -56,
    u16: 60000,
    i16: -3,
    u32: 4000000000,
    i32: -4,
    f32: 1.5,
    bool: true,
    string: 'llama é',
    array: ['a', 'b'],
    nested: [[1, 2]],
    u64: 2n ** 63n,
    i64: -1n,
    f64: 0.1,
  });
  equal([file.version, file.names], [3, []]);
});

test('floats are tensors, with the slowest axis first; quantised blocks are bytes with their description', () => {
  const data = concat(
    f32(1, 2, 3, 4, 5, 6),
    new Uint8Array(8),
    Uint8Array.from({ length: 72 }, (_, i) => i),
  );
  using file = openGguf(
    fileOf(
      gguf(
        [],
        [
          { name: 'float', dims: [3, 2], type: 0, offset: 0 },
          { name: 'quantised', dims: [64, 2], type: 2, offset: 32 },
        ],
        data,
      ),
    ),
  );
  equal(file.get('float').toArray(), [
    [1, 2, 3],
    [4, 5, 6],
  ]);
  equal(file.get('float').isCopied, false);
  const blocks = file.get('quantised');
  equal([blocks.dtype, blocks.shape, blocks.get(1, 35)], ['uint8', [2, 36], 71]);
  equal(file.info('quantised').quantization, { type: 'Q4_0', blockElements: 32, blockBytes: 18, shape: [2, 64] });
  equal(file.info('float').quantization, undefined);
});

test('another alignment, and version 2', () => {
  const bytes = gguf(
    [['general.alignment', 4, u32(64)]],
    [{ name: 'x', dims: [1], type: 0, offset: 64 }],
    concat(new Uint8Array(64), f32(7)),
    { version: 2, alignment: 64 },
  );
  equal(openGguf(fileOf(bytes)).get('x').toArray(), [7]);
});

test('a header longer than the first piece that is read', async () => {
  const long = 'x'.repeat(100_000);
  const words = concat(u32(8), u64(20_000), ...Array.from({ length: 20_000 }, (_, i) => ggufString(`word ${i}`)));
  const bytes = gguf(
    [
      ['long', 8, ggufString(long)],
      ['words', 9, words],
    ],
    [{ name: 'x', dims: [1], type: 0, offset: 0 }],
    f32(7),
  );
  using file = openGguf(fileOf(bytes));
  equal((file.metadata.get('words') as string[])[19_999], 'word 19999');
  equal(file.get('x').toArray(), [7]);
  using blob = await openGguf(new Blob([bytes]));
  equal((await blob.getAsync('x')).toArray(), [7]);
  throws('BufferError', 'use getAsync()', () => blob.get('x'));
});
