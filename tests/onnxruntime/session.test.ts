import { type DType, fromDLPack, Tensor } from 'dlpack';
import { liveCounts } from 'dlpack/debug';
import { addressOf } from 'dlpack/native';
import { loadRuntime, loadSession, type Output, type StringTensor } from 'dlpack/onnxruntime';
import { equal, ok, throws } from '../assert.js';
import { testWith } from '../harness.js';
import { makeGraph, makeModel } from '../interop/libraries/model.js';
import { libraryPath, missing } from './library.js';

const tensor = (value: Output | undefined): Tensor => {
  if (!(value instanceof Tensor)) throw new Error('not a tensor');
  return value;
};

/** Every element type with its number in ONNX. */
const types: readonly (readonly [DType, number])[] = [
  ['float32', 1],
  ['uint8', 2],
  ['int8', 3],
  ['uint16', 4],
  ['int16', 5],
  ['int32', 6],
  ['int64', 7],
  ['bool', 9],
  ['float16', 10],
  ['float64', 11],
  ['uint32', 12],
  ['uint64', 13],
  ['bfloat16', 16],
  ['float8_e4m3fn', 17],
  ['float8_e4m3fnuz', 18],
  ['float8_e5m2', 19],
  ['float8_e5m2fnuz', 20],
];

const identity = (type: number) =>
  makeGraph({
    nodes: [{ op: 'Identity', inputs: ['x'], outputs: ['y'] }],
    inputs: { x: { tensor: type, shape: ['n', 3] } },
    outputs: { y: { tensor: type, shape: ['n', 3] } },
    opset: 19,
  });

testWith(missing, 'the library says what it is', () => {
  const runtime = loadRuntime();
  equal([runtime.path, runtime.from], [libraryPath, 'DLPACK_ONNXRUNTIME']);
  ok(/^1\.\d+\.\d+/.test(runtime.version), runtime.version);
  ok(runtime.providers.includes('CPUExecutionProvider'), runtime.providers.join());
  throws('ValueError', 'loaded already', () => loadRuntime('/none/libonnxruntime.so'));
});

for (const [dtype, code] of types) {
  testWith(missing, `${dtype} in, out and into a given tensor`, async () => {
    using session = await loadSession(identity(code));
    const x = Tensor.from([0, 1, 1, 0, 1, 1], { dtype: 'uint8' }).astype(dtype).reshape([2, 3]);
    const { y } = await session.run({ x });
    const made = tensor(y);
    equal([made.dtype, [...made.shape], made.toArray()], [dtype, [2, 3], x.toArray()]);
    equal(addressOf(made) % 256n, 0n);
    ok(addressOf(made) !== addressOf(x), 'the output has memory of its own');
    const given = Tensor.zeros([2, 3], dtype);
    const result = await session.run({ x }, { outputs: { y: given } });
    equal(result.y === given, true);
    equal(given.toArray(), x.toArray());
    equal(tensor(session.runSync({ x }).y).toArray(), x.toArray());
  });
}

testWith(missing, 'packed elements: int4 by Cast', async () => {
  const model = makeGraph({
    nodes: [{ op: 'Cast', inputs: ['x'], outputs: ['y'], attributes: { to: 6 } }],
    inputs: { x: { tensor: 22, shape: ['n'] } },
    outputs: { y: { tensor: 6, shape: ['n'] } },
    opset: 21,
  });
  using session = await loadSession(model);
  const x = Tensor.from([1, -2, 3, -8, 7], { dtype: 'int4' });
  equal(tensor((await session.run({ x })).y).toArray(), [1, -2, 3, -8, 7]);
  // A slice that begins inside a byte is copied.
  equal(tensor((await session.run({ x: x.slice([1, 4]) })).y).toArray(), [-2, 3, -8]);
});

testWith(missing, 'what a model is: names, dtypes, shapes, defaults and metadata', async () => {
  const model = makeGraph({
    nodes: [{ op: 'Add', inputs: ['größe', 'bias'], outputs: ['y'] }],
    inputs: { größe: { tensor: 1, shape: ['batch', null, 3] }, bias: { tensor: 1, shape: [3] } },
    outputs: { y: { tensor: 1 } },
    constants: { bias: { type: 1, shape: [3], bytes: new Uint8Array(Float32Array.of(1, 2, 3).buffer) } },
    metadata: { author: 'me', note: 'größer' },
  });
  using session = await loadSession(model);
  equal(session.inputs[0], {
    kind: 'tensor',
    dtype: 'float32',
    shape: ['batch', null, 3],
    name: 'größe',
    isOptional: false,
  });
  equal([session.inputs[1]?.name, session.inputs[1]?.isOptional], ['bias', true]);
  equal(
    session.outputs.map(({ name }) => name),
    ['y'],
  );
  equal([...session.metadata.custom].sort(), [
    ['author', 'me'],
    ['note', 'größer'],
  ]);
  const x = Tensor.zeros([1, 1, 3], 'float32');
  equal(tensor(session.runSync({ größe: x }).y).toArray(), [[[1, 2, 3]]]);
  const bias = Tensor.from([5, 5, 5], { dtype: 'float32' });
  equal(tensor(session.runSync({ größe: x, bias }).y).toArray(), [[[5, 5, 5]]]);
});

testWith(missing, 'inputs: strided, wrapped, of a foreign producer, without elements', async () => {
  using session = await loadSession(makeModel('Identity', 1, 'float32'));
  const x = Tensor.from(
    [
      [1, 2],
      [3, 4],
    ],
    { dtype: 'float32' },
  );
  equal(tensor(session.runSync({ x: x.transpose() }).y).toArray(), [
    [1, 3],
    [2, 4],
  ]);
  const wrapped = Tensor.wrap(Float32Array.of(1, 2, 3, 4), { shape: [2, 2] });
  equal(tensor((await session.run({ x: wrapped })).y).toArray(), [
    [1, 2],
    [3, 4],
  ]);
  const foreign = {
    [Symbol.for('dlpack')]: () => (x as never as Record<symbol, () => object>)[Symbol.for('dlpack')]?.(),
  };
  equal(tensor((await session.run({ x: foreign })).y).toArray(), [
    [1, 2],
    [3, 4],
  ]);
  const empty = tensor((await session.run({ x: Tensor.empty([0, 5], 'float32') })).y);
  equal([[...empty.shape], empty.data.length], [[0, 5], 0]);
  equal([...fromDLPack(empty).shape], [0, 5]);
});

testWith(
  missing,
  'the input is shared, not copied: ONNX Runtime reads what is written during a chain of runs',
  async () => {
    using session = await loadSession(makeModel('Identity', 1, 'float32'));
    const x = Tensor.zeros([1, 2], 'float32');
    const y = Tensor.zeros([1, 2], 'float32');
    for (const value of [3, 4]) {
      x.set(0, 1, value);
      session.runSync({ x }, { outputs: { y } });
      equal(y.toArray(), [[0, value]]);
    }
  },
);

testWith(missing, 'strings in and out, with a shape and without', async () => {
  const model = makeGraph({
    nodes: [{ op: 'Identity', inputs: ['x'], outputs: ['y'] }],
    inputs: { x: { tensor: 8 } },
    outputs: { y: { tensor: 8 } },
  });
  using session = await loadSession(model);
  equal(session.inputs[0]?.kind, 'string');
  const long = 'x'.repeat(100);
  const { y } = (await session.run({ x: ['a', '', 'größe 🙂', 'a\0b', long] })) as { y: StringTensor };
  equal([y.shape, y.data], [[5], ['a', '', 'größe 🙂', 'a\0b', long]]);
  const shaped = session.runSync({ x: { shape: [2, 1], data: ['a', 'b'] } }).y as StringTensor;
  equal(
    [shaped.shape, shaped.data],
    [
      [2, 1],
      ['a', 'b'],
    ],
  );
  throws('TypeError', "element 1 of input 'x'", () => session.runSync({ x: ['a', 1] as never }));
  throws('LayoutError', '3 strings', () => session.runSync({ x: { shape: [3], data: ['a'] } }));
});

testWith(missing, 'sequences are arrays, and maps are Maps', async () => {
  const sequence = makeGraph({
    nodes: [{ op: 'SequenceConstruct', inputs: ['a', 'b'], outputs: ['y'] }],
    inputs: { a: { tensor: 1, shape: ['n'] }, b: { tensor: 1, shape: ['m'] } },
    outputs: { y: { sequence: { tensor: 1 } } },
  });
  using made = await loadSession(sequence);
  const [a, b] = [Tensor.from([1, 2], { dtype: 'float32' }), Tensor.from([3], { dtype: 'float32' })];
  const { y } = (await made.run({ a, b })) as { y: Tensor[] };
  equal(
    y.map((each) => each.toArray()),
    [[1, 2], [3]],
  );

  const at = makeGraph({
    nodes: [{ op: 'SequenceAt', inputs: ['s', 'i'], outputs: ['y'] }],
    inputs: { s: { sequence: { tensor: 1 } }, i: { tensor: 7, shape: [] } },
    outputs: { y: { tensor: 1 } },
  });
  using chosen = await loadSession(at);
  const i = Tensor.from(1n as never, { dtype: 'int64' }).reshape([]);
  equal(tensor((await chosen.run({ s: [a, b], i })).y).toArray(), [3]);

  const zip = makeGraph({
    nodes: [
      {
        op: 'ZipMap',
        inputs: ['x'],
        outputs: ['y'],
        domain: 'ai.onnx.ml',
        attributes: { classlabels_strings: ['cat', 'dog'] },
      },
    ],
    inputs: { x: { tensor: 1, shape: ['n', 2] } },
    outputs: { y: { sequence: { map: [8, { tensor: 1, shape: [] }] } } },
    mlOpset: 1,
  });
  using zipped = await loadSession(zip);
  const result = zipped.runSync({
    x: Tensor.from(
      [
        [0.25, 0.75],
        [1, 0],
      ],
      { dtype: 'float32' },
    ),
  });
  equal(
    (result.y as Map<string, number>[]).map((map) => [...map]),
    [
      [
        ['cat', 0.25],
        ['dog', 0.75],
      ],
      [
        ['cat', 1],
        ['dog', 0],
      ],
    ],
  );
});

testWith(missing, 'outputs by name, and only those', async () => {
  const model = makeGraph({
    nodes: [{ op: 'Split', inputs: ['x'], outputs: ['a', 'b'], attributes: { axis: 0 } }],
    inputs: { x: { tensor: 1, shape: [4] } },
    outputs: { a: { tensor: 1 }, b: { tensor: 1 } },
  });
  using session = await loadSession(model);
  const x = Tensor.from([1, 2, 3, 4], { dtype: 'float32' });
  equal(Object.keys(await session.run({ x }, { outputs: ['b'] })), ['b']);
  const given = Tensor.zeros([2], 'float32');
  const both = await session.run({ x }, { outputs: { a: null, b: given } });
  equal(
    [tensor(both.a).toArray(), given.toArray()],
    [
      [1, 2],
      [3, 4],
    ],
  );
});

testWith(missing, 'outputs and temporaries are freed by dispose, at once', async () => {
  const session = await loadSession(makeModel('Relu', 1, 'float32'));
  const x = Tensor.zeros([512, 512], 'float32');
  const before = liveCounts().storages;
  for (let i = 0; i < 20; i++) {
    const y = tensor(session.runSync({ x: x.transpose() }).y);
    y.data[0] = i;
    y.dispose();
  }
  const y = tensor((await session.run({ x })).y);
  session.dispose();
  equal(y.get(0, 0), 0, 'an output outlives its session');
  y.dispose();
  ok(liveCounts().storages <= before, `${liveCounts().storages} storages, ${before} before`); // the collector may have freed others
  x.dispose();
});

testWith(missing, 'a model from a path, a URL, bytes and a tensor', async () => {
  const { mkdtempSync, writeFileSync, rmSync } = await import('node:fs');
  const { tmpdir } = await import('node:os');
  const { join } = await import('node:path');
  const { pathToFileURL } = await import('node:url');
  const folder = mkdtempSync(join(tmpdir(), 'dlpack-onnx-ü-'));
  try {
    const bytes = makeModel('Neg', 1, 'float32');
    const path = join(folder, 'modell ü.onnx');
    writeFileSync(path, bytes);
    const x = Tensor.from([[1, -2]], { dtype: 'float32' });
    for (const model of [path, pathToFileURL(path), bytes, Tensor.from(bytes)]) {
      using session = await loadSession(model);
      equal(tensor(session.runSync({ x }).y).toArray(), [[-1, 2]]);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
