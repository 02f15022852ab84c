/** Native code and TypeScript give the same bits, for every pair of types, every layout and every set of instructions. */

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type BaseDType, type DType, dtypes, parseDType, type Tensor as TensorOf } from 'dlpack';
import { equal, ok } from '../../assert.js';
import { cores } from '../../cores.js';
import { runtime, test } from '../../harness.js';
import { randomFrom } from '../../random.js';

const [[, native], [, pure]] = cores as [(typeof cores)[number], (typeof cores)[number]];
const scalars = dtypes.filter((dtype) => dtype !== 'float128');

type Layout = (tensor: TensorOf) => TensorOf;

/** Of 1260 elements each. */
const layouts: Record<string, Layout> = {
  'row-major': (tensor) => tensor.slice([0, 1260]),
  backwards: (tensor) => tensor.slice([0, 1260]).flip(),
  'inside bytes': (tensor) => tensor.slice([3, 1263]),
  'with gaps': (tensor) => tensor.slice([1, 2521, 2]),
  transposed: (tensor) => tensor.slice([0, 1260]).reshape([70, 18]).transpose(),
  permuted: (tensor) => tensor.slice([8, 1268]).reshape([9, 7, 20]).transpose([2, 0, 1]),
  repeated: (tensor) => tensor.slice([5, 89]).reshape([1, 84]).broadcastTo([15, 84]),
};

const bytesOf = (tensor: TensorOf): Uint8Array => {
  const data = tensor.unsafeData();
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
};

/** The bits after the last element of a packed tensor belong to no element. */
function compare(label: string, a: TensorOf, b: TensorOf): void {
  const [left, right] = [bytesOf(a), bytesOf(b)];
  equal(left.length, right.length, label);
  const used = (a.size * parseDType(a.dtype).itemBits) % 8;
  for (let i = 0; i < left.length; i++) {
    const mask = used !== 0 && !a.isPadded && i === left.length - 1 ? (1 << used) - 1 : 255;
    if (((left[i] as number) & mask) !== ((right[i] as number) & mask)) {
      equal([...left.slice(i & ~7, i + 8)], [...right.slice(i & ~7, i + 8)], `${label}, byte ${i}`);
    }
  }
}

function memoryOf(dtype: DType, count: number, seed: number): Uint8Array<ArrayBuffer> {
  return randomFrom(seed).bytes(Math.ceil((count * parseDType(dtype).itemBits) / 8));
}

test('every pair of types', () => {
  for (const from of scalars) {
    const memory = memoryOf(from, 1300, 1);
    const [a, b] = [native.Tensor.wrap(memory, { dtype: from }), pure.Tensor.wrap(memory, { dtype: from })];
    for (const to of scalars) {
      using left = a.astype(to);
      compare(`${from} to ${to}`, left, b.astype(to));
    }
  }
});

test('every layout, read and written', () => {
  const chosen: BaseDType[] = ['uint1', 'int4', 'float6_e2m3fn', 'uint8', 'bfloat16', 'float32', 'complex64', 'int128'];
  for (const from of chosen) {
    for (const to of chosen) {
      const memory = memoryOf(from, 2600, 2);
      const [a, b] = [native.Tensor.wrap(memory, { dtype: from }), pure.Tensor.wrap(memory, { dtype: from })];
      for (const [name, layout] of Object.entries(layouts)) {
        const label = `${from} to ${to}, ${name}`;
        using left = layout(a).astype(to);
        compare(label, left, layout(b).astype(to));
        if (name === 'repeated') continue;
        const [before, after] = [memoryOf(to, 2600, 3), memoryOf(to, 2600, 3)];
        const [written, expected] = [native.Tensor.wrap(before, { dtype: to }), pure.Tensor.wrap(after, { dtype: to })];
        const source = layout(a).shape;
        layout(written).copyFrom(a.slice([0, 1260]).reshape(source));
        layout(expected).copyFrom(b.slice([0, 1260]).reshape(source));
        compare(`${label}, written`, written, expected);
      }
    }
  }
});

test('few elements, which are not divided among threads', () => {
  const chosen: BaseDType[] = ['uint1', 'int4', 'int8', 'float16', 'float32', 'float64', 'complex64', 'int128'];
  const few: Record<string, Layout> = {
    transposed: (tensor) => tensor.slice([1, 7]).reshape([2, 3]).transpose(),
    'with gaps': (tensor) => tensor.slice([1, 13, 2]),
    backwards: (tensor) => tensor.slice([1, 7]).flip(),
    permuted: (tensor) => tensor.slice([2, 66]).reshape([2, 4, 8]).transpose([2, 0, 1]),
    'one more': (tensor) => tensor.slice([2, 67]).reshape([5, 13]).transpose(),
    repeated: (tensor) => tensor.slice([3, 6]).reshape([3, 1]).broadcastTo([4, 3, 5]),
    'one element': (tensor) => tensor.slice([5, 6]).reshape([1, 1]).broadcastTo([3, 1]),
  };
  for (const from of chosen) {
    const memory = memoryOf(from, 80, 7);
    const [a, b] = [native.Tensor.wrap(memory, { dtype: from }), pure.Tensor.wrap(memory, { dtype: from })];
    for (const to of chosen) {
      for (const [name, layout] of Object.entries(few)) {
        using left = layout(a).astype(to);
        compare(`${from} to ${to}, ${name}`, left, layout(b).astype(to));
        const { shape } = left;
        using written = native.Tensor.zeros(shape, to).copyFrom(layout(a));
        compare(`${from} to ${to}, ${name}, written`, written, left);
      }
    }
  }
});

test('every pair of types with a scale and an offset', () => {
  const real = scalars.filter((dtype) => !dtype.includes('complex'));
  for (const from of real) {
    const memory = memoryOf(from, 1300, 8);
    const [a, b] = [native.Tensor.wrap(memory, { dtype: from }), pure.Tensor.wrap(memory, { dtype: from })];
    for (const to of real) {
      using left = a.astype(to, { scale: 0.3, offset: -7 });
      compare(`${from} to ${to}`, left, b.astype(to, { scale: 0.3, offset: -7 }));
    }
  }
});

test('a scale and an offset for each position on each axis, in every layout', async () => {
  const chosen: BaseDType[] = ['int4', 'float6_e2m3fn', 'uint8', 'bfloat16', 'float32', 'float64', 'int64'];
  const more: Record<string, Layout> = {
    few: (tensor) => tensor.slice([2, 32]).reshape([5, 6]).transpose(),
    'one row': (tensor) => tensor.slice([2, 32]),
    'one channel': (tensor) => tensor.slice([2, 32]).reshape([30, 1]),
    image: (tensor) => tensor.slice([0, 1260]).reshape([20, 21, 3]).transpose([2, 0, 1]),
    large: (tensor) => tensor.slice([0, 2500]).reshape([50, 50]).transpose(),
  };
  for (const from of chosen) {
    for (const to of ['uint8', 'float32', 'float64'] as const) {
      const memory = memoryOf(from, 2600, 9);
      const [a, b] = [
        native.Tensor.from(native.Tensor.wrap(memory, { dtype: from })),
        pure.Tensor.wrap(memory, { dtype: from }),
      ];
      for (const [name, layout] of Object.entries({ ...layouts, ...more })) {
        const source = layout(a);
        for (let axis = 0; axis < source.ndim; axis++) {
          const scale = Float64Array.from({ length: source.shape[axis] as number }, (_, i) => 1 / (i + 3));
          const options = { scale, offset: scale.map((s) => s - 0.5), axis };
          using left = source.astype(to, options);
          const right = layout(b).astype(to, options);
          compare(`${from} to ${to}, ${name}, axis ${axis}`, left, right);
          using later = await source.astypeAsync(to, options);
          compare(`${from} to ${to}, ${name}, axis ${axis}, asynchronous`, later, right);
        }
      }
    }
  }
});

test('large images with a scale for each channel: on several threads, bypassing the caches, in pieces', async () => {
  const memory = memoryOf('uint8', 3 * 900 * 800, 10);
  const options = { scale: [1 / 58, 1 / 57, -1 / 57], offset: [-2.1, -2, -1.8] };
  for (const axis of [0, 2]) {
    const turn: Layout = (tensor) => (axis === 0 ? tensor.transpose([2, 0, 1]) : tensor);
    const [a, b] = [native, pure].map(({ Tensor }) => turn(Tensor.wrap(memory, { shape: [900, 800, 3] }))) as [
      TensorOf,
      TensorOf,
    ];
    using left = a.astype('float32', { ...options, axis });
    compare(`axis ${axis}`, left, b.astype('float32', { ...options, axis }));
    compare(`axis ${axis}, in pieces`, left, await b.astypeAsync('float32', { ...options, axis }));
  }
});

test('float32 of every exponent, sign and leading bits into every type', () => {
  const bits = new Uint32Array(2 ** 18);
  const low = [0, 1, 0x7fff, 0xffff];
  for (let i = 0; i < bits.length; i++) bits[i] = ((i >> 2) << 16) | (low[i & 3] as number);
  const memory = new Float32Array(bits.buffer);
  for (const to of scalars) {
    if (parseDType(to).bits > 64) continue;
    using left = native.Tensor.wrap(memory).astype(to);
    compare(`float32 to ${to}`, left, pure.Tensor.wrap(memory).astype(to));
  }
});

test('large tensors: on several threads, bypassing the caches', () => {
  const side = 1200;
  const pairs: [BaseDType, BaseDType][] = [
    ['float32', 'float32'],
    ['bfloat16', 'float32'],
    ['float4_e2m1fn', 'float32'],
    ['float6_e3m2fn', 'float32'],
    ['int16', 'int64'],
  ];
  for (const [from, to] of pairs) {
    const memory = memoryOf(from, side * side + 64, 5);
    const wraps = [native, pure].map(({ Tensor }) => Tensor.wrap(memory, { dtype: from }));
    const turns: Layout[] = [
      (t) => t.slice([8, side * side + 8]).reshape([side, side]),
      (t) =>
        t
          .slice([0, side * side])
          .reshape([side, side])
          .transpose(),
      (t) =>
        t
          .slice([0, side * side])
          .reshape([30, side, 40])
          .transpose([1, 0, 2]),
    ];
    for (const [i, turn] of turns.entries()) {
      const [left, right] = wraps.map((tensor) => turn(tensor).astype(to)) as [TensorOf, TensorOf];
      ok(left.nbytes > 4 << 20);
      compare(`${from} to ${to}, turn ${i}`, left, right);
      left.dispose();
    }
  }
});

// In its own process, because the instruction set is chosen once.
const isChild = process.env.DLPACK_CPU !== undefined;
for (const cpu of runtime === 'node' && !isChild ? ['portable', 'avx2'] : []) {
  test(`the same with DLPACK_CPU=${cpu}`, () => {
    const { stdout } = spawnSync(process.execPath, [...process.execArgv, fileURLToPath(import.meta.url)], {
      env: { ...process.env, DLPACK_CPU: cpu, DLPACK_NUM_THREADS: '3', DLPACK_CACHE_BYTES: '1' },
      encoding: 'utf8',
    });
    ok(/RESULT \{"passed":[1-9]\d*,"failed":0/.test(stdout), stdout);
  });
}
