/** The ends of vector code: counts around the vector widths, misaligned starts, with and without the caches. */

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type BaseDType, parseDType, type Tensor as TensorOf } from 'dlpack';
import { equal, ok } from '../../assert.js';
import { cores } from '../../cores.js';
import { runtime, test } from '../../harness.js';
import { randomFrom } from '../../random.js';

const [[, native], [, pure]] = cores as [(typeof cores)[number], (typeof cores)[number]];

const wholeBytes: BaseDType[] = [
  'float16',
  'bfloat16',
  'float8_e3m4',
  'float8_e4m3',
  'float8_e4m3b11fnuz',
  'float8_e4m3fn',
  'float8_e4m3fnuz',
  'float8_e5m2',
  'float8_e5m2fnuz',
  'float8_e8m0fnu',
  'int8',
  'uint16',
];
const belowBytes: BaseDType[] = ['int4', 'uint4', 'float4_e2m1fn', 'float6_e2m3fn', 'float6_e3m2fn', 'int2', 'uint1'];

interface Pair {
  readonly label: string;
  readonly to: BaseDType;
  readonly source: TensorOf;
  /** The result of TypeScript for the same memory. */
  readonly expected: Uint8Array;
}

const bytesOf = (tensor: TensorOf): Uint8Array => {
  const { buffer, byteOffset, byteLength } = tensor.unsafeData();
  return new Uint8Array(buffer, byteOffset, byteLength);
};

/** Random bits, also above padded elements, where they belong to no element. */
function pair(from: BaseDType, to: BaseDType, count: number, padded: boolean): Pair {
  const bits = padded ? 8 : parseDType(from).bits;
  const memory = randomFrom(7).bytes(Math.ceil((count * bits) / 8));
  const options = { dtype: from, padded };
  const expected = bytesOf(pure.Tensor.wrap(memory, options).astype(to));
  const label = `${from}${padded ? ', padded,' : ''} to ${to}`;
  return { label, to, source: native.Tensor.wrap(memory, options).copy(), expected };
}

function pairs(count: number): Pair[] {
  return [
    ...wholeBytes.flatMap((dtype) => [pair(dtype, 'float32', count, false), pair('float32', dtype, count, false)]),
    ...belowBytes.flatMap((dtype) => [pair(dtype, 'float32', count, false), pair(dtype, 'float32', count, true)]),
    pair('float32', 'float32', count, false),
  ];
}

/** Into existing memory, whose surroundings must not change. */
function check({ label, to, source, expected }: Pair, start: number, end: number, at: number, target: TensorOf): void {
  const memory = bytesOf(target).fill(0xa5);
  const size = parseDType(to).bits / 8;
  target.slice([at, at + end - start]).copyFrom(source.slice([start, end]));
  const what = `${label}, ${start} to ${end} at ${at}`;
  const written = Buffer.from(memory.buffer, memory.byteOffset + at * size, (end - start) * size);
  if (written.compare(expected.subarray(start * size, end * size)) !== 0) {
    equal([...written], [...expected.subarray(start * size, end * size)], what);
  }
  const around = [...memory.subarray(0, at * size), ...memory.subarray((at + end - start) * size).subarray(0, 256)];
  ok(
    around.every((byte) => byte === 0xa5),
    `${what}: nothing around it changes`,
  );
}

test('counts around the widths of vectors, from every start', () => {
  const counts = [1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65, 79, 127, 128, 129, 200];
  for (const each of pairs(240)) {
    using target = native.Tensor.zeros([240], each.to);
    for (const count of counts) {
      for (const start of [0, 1, 3, 8]) {
        for (const at of [0, 1, 4, 13, 16]) check(each, start, start + count, at, target);
      }
    }
    each.source.dispose();
  }
});

test('blocks, stretches and threads, with tails', () => {
  const count = (1 << 20) + 77;
  const chosen: [BaseDType, BaseDType][] = [
    ['float32', 'float32'],
    ['bfloat16', 'float32'],
    ['float32', 'float16'],
    ['float8_e4m3fn', 'float32'],
    ['int4', 'float32'],
    ['float6_e2m3fn', 'float32'],
  ];
  for (const [from, to] of chosen) {
    for (const padded of parseDType(from).bits < 8 ? [false, true] : [false]) {
      const each = pair(from, to, count, padded);
      using target = native.Tensor.zeros([count + 20], to);
      for (const [start, at] of [
        [0, 0],
        [8, 0],
        [8, 3],
      ] as const) {
        check(each, start, count, at, target);
      }
      using fresh = each.source.astype(to);
      ok(Buffer.from(bytesOf(fresh)).equals(each.expected), `${each.label}, into fresh memory`);
      each.source.dispose();
    }
  }
});

test('padding around the elements of a padded target stays', () => {
  for (const dtype of ['int4', 'float6_e3m2fn', 'uint1'] as const) {
    const [left, right] = [randomFrom(9).bytes(300), randomFrom(9).bytes(300)];
    const values = new Float32Array(300).map((_, i) => (i % 7) - 3);
    for (const [{ Tensor }, memory] of [
      [native, left],
      [pure, right],
    ] as const) {
      Tensor.wrap(memory, { dtype, padded: true })
        .slice([5, 291])
        .copyFrom(Tensor.wrap(values).slice([5, 291]));
    }
    equal([...left], [...right], dtype);
  }
});

// In its own process, because the instruction set and the cache sizes are read once. All stores bypass the caches there.
const isChild = process.env.DLPACK_CPU !== undefined;
for (const cpu of runtime === 'node' && !isChild ? ['portable', 'avx2', 'avx512'] : []) {
  test(`bypassing the caches with DLPACK_CPU=${cpu}`, () => {
    const { stdout } = spawnSync(process.execPath, [...process.execArgv, fileURLToPath(import.meta.url)], {
      env: { ...process.env, DLPACK_CPU: cpu, DLPACK_NUM_THREADS: '3', DLPACK_CACHE_BYTES: '1' },
      encoding: 'utf8',
    });
    ok(stdout.includes('RESULT {"passed":3,"failed":0'), stdout);
  });
}
