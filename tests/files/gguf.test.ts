import { openGguf, openGgufSync } from 'dlpack/files';
import { equal, rejects, throws } from '../assert.js';
import { test } from '../harness.js';
import { concat, fileOf, gguf, ggufString, u32, u64 } from './make.js';

const f32 = (...values: number[]) => new Uint8Array(Float32Array.from(values).buffer);

test('metadata of every type', () => {
  const bytes = (size: number, set: (view: DataView) => void): Uint8Array => {
    const out = new Uint8Array(size);
    set(new DataView(out.buffer));
    return out;
  };
  const file = openGgufSync(
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
    nested: [Uint32Array.of(1, 2)],
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
  using file = openGgufSync(
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

test('arrays of numbers are typed arrays of their type, and booleans are an array', () => {
  const arrays = [
    [0, Uint8Array.of(1, 2)],
    [1, Int8Array.of(1, -2)],
    [2, Uint16Array.of(1, 2)],
    [3, Int16Array.of(1, -2)],
    [4, Uint32Array.of(1, 2)],
    [5, Int32Array.of(1, -2)],
    [6, Float32Array.of(1, 2.5)],
    [10, BigUint64Array.of(1n, 2n ** 63n)],
    [11, BigInt64Array.of(1n, -2n)],
    [12, Float64Array.of(1, 0.1)],
  ] as const;
  const pairs = arrays.map(
    ([type, { buffer }]) => [`k${type}`, 9, concat(u32(type), u64(2), new Uint8Array(buffer))] as const,
  );
  const flags = ['flags', 9, concat(u32(7), u64(2), new Uint8Array([1, 0]))] as const;
  const { metadata } = openGgufSync(fileOf(gguf([...pairs, flags], [], new Uint8Array())));
  for (const [type, array] of arrays) {
    const value = metadata.get(`k${type}`) as typeof array;
    equal([value.constructor === array.constructor, [...value]], [true, [...array]], `type ${type}`);
  }
  equal(metadata.get('flags'), [true, false]);
});

test('a vocabulary of 400,000 tokens with their scores and merges', () => {
  const count = 400_000;
  const strings = (prefix: string) =>
    Buffer.concat([u32(8), u64(count), ...Array.from({ length: count }, (_, i) => ggufString(`${prefix}${i}`))]);
  const scores = concat(u32(6), u64(count), new Uint8Array(Float32Array.from({ length: count }, (_, i) => -i).buffer));
  const bytes = gguf(
    [
      ['tokenizer.ggml.tokens', 9, strings('token ')],
      ['tokenizer.ggml.scores', 9, scores],
      ['tokenizer.ggml.merges', 9, strings('m ')],
    ],
    [],
    new Uint8Array(),
  );
  const { metadata } = openGgufSync(fileOf(bytes));
  equal((metadata.get('tokenizer.ggml.tokens') as string[])[count - 1], `token ${count - 1}`);
  equal((metadata.get('tokenizer.ggml.scores') as Float32Array)[count - 1], 1 - count);
  equal((metadata.get('tokenizer.ggml.merges') as string[]).length, count);
});

test('the block types of newer versions, and types that are not known yet', async () => {
  const bytes = gguf(
    [],
    [
      { name: 'nvfp4', dims: [64, 2], type: 40, offset: 0 },
      { name: 'later', dims: [7, 7], type: 999, offset: 3 },
      { name: 'q1_0', dims: [128], type: 41, offset: 96 },
    ],
    new Uint8Array(128),
  );
  using file = openGgufSync(fileOf(bytes));
  equal([file.names, file.size, file.has('later')], [['nvfp4', 'later', 'q1_0'], 3, true]);
  equal([file.get('nvfp4').shape, file.info('nvfp4').quantization?.type], [[2, 36], 'NVFP4']);
  equal([file.get('q1_0').shape, file.info('q1_0').quantization?.blockElements], [[18], 128]);
  throws('UnsupportedDTypeError', "for 'later' in", () => file.get('later'));
  throws('UnsupportedDTypeError', 'its type is 999', () => file.info('later'));
  await rejects('UnsupportedDTypeError', 'its type is 999', file.getAllAsync());
});

test('another alignment, and version 2', () => {
  const bytes = gguf(
    [['general.alignment', 4, u32(64)]],
    [{ name: 'x', dims: [1], type: 0, offset: 64 }],
    concat(new Uint8Array(64), f32(7)),
    { version: 2, alignment: 64 },
  );
  equal(openGgufSync(fileOf(bytes)).get('x').toArray(), [7]);
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
  using file = openGgufSync(fileOf(bytes));
  equal((file.metadata.get('words') as string[])[19_999], 'word 19999');
  equal(file.get('x').toArray(), [7]);
  using blob = await openGguf(new Blob([bytes]));
  equal((await blob.getAsync('x')).toArray(), [7]);
  throws('BufferError', 'use getAsync()', () => blob.get('x'));
});
