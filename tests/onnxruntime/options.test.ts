import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Tensor } from 'dlpack';
import { loadSession } from 'dlpack/onnxruntime';
import { equal, ok, rejects, throws } from '../assert.js';
import { testWith } from '../harness.js';
import { makeGraph, makeModel } from '../interop/libraries/model.js';
import { missing } from './library.js';

/** A model of ai.onnx.ml with one operator from a map to a tensor. */
const fromMap = (op: string, key: number, attributes = {}) =>
  makeGraph({
    nodes: [{ op, inputs: ['x'], outputs: ['y'], domain: 'ai.onnx.ml', attributes }],
    inputs: { x: { map: [key, { tensor: 1, shape: [] }] } },
    outputs: { y: { tensor: 1 } },
    mlOpset: 1,
  });

testWith(missing, 'a Map is an input, with strings or bigints as keys', async () => {
  using texts = await loadSession(fromMap('DictVectorizer', 8, { string_vocabulary: ['a', 'b', 'c'] }));
  const [input] = texts.inputs;
  equal([input?.kind, input?.kind === 'map' && input.key], ['map', 'string']);
  const valuesOf = (y: unknown) => [...(y as Tensor<'float32'>).data];
  equal(
    valuesOf(
      (
        await texts.run({
          x: new Map([
            ['c', 3],
            ['a', 1.5],
          ]),
        })
      ).y,
    ),
    [1.5, 0, 3],
  );
  throws('TypeError', "a Map for input 'x'", () => texts.runSync({ x: { a: 1 } }));
  throws('TypeError', 'a string', () => texts.runSync({ x: new Map([[1, 1]]) }));

  using numbers = await loadSession(fromMap('CastMap', 7));
  equal(
    valuesOf(
      numbers.runSync({
        x: new Map([
          [2n, 5],
          [7n, 6],
        ]),
      }).y,
    ),
    [5, 6],
  );
  throws('TypeError', "a number for an element of input 'x'", () => numbers.runSync({ x: new Map([['a', 1]]) }));
});

testWith(missing, 'a profile is written to the file that endProfiling names', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'dlpack-profile-ü-'));
  try {
    using session = await loadSession(makeModel('Relu', 1, 'float32'), { profile: join(folder, 'run') });
    session.runSync({ x: Tensor.zeros([1, 2], 'float32') });
    const path = session.endProfiling();
    ok(path.startsWith(join(folder, 'run')) && existsSync(path), path);
    const events = JSON.parse(readFileSync(path, 'utf8')) as { cat: string; args?: { op_name?: string } }[];
    ok(
      events.some(({ args }) => args?.op_name === 'Relu'),
      'the kernel is in it',
    );
    throws('OnnxRuntimeError', 'or it has ended', () => session.endProfiling());
    session.runSync({ x: Tensor.zeros([1, 2], 'float32') });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

testWith(missing, 'dimensions with a name get the lengths that were given', async () => {
  const model = makeModel('Relu', 1, 'float32'); // rows and columns
  using session = await loadSession(model, { dimensions: { rows: 2 } });
  const [input] = session.inputs;
  equal(input?.kind === 'tensor' && input.shape, [2, 'columns']);
  using y = session.runSync({ x: Tensor.zeros([2, 5], 'float32') }).y as Tensor;
  equal([...y.shape], [2, 5]);
  throws('LayoutError', "[2, columns] for input 'x' but received [3, 5]", () =>
    session.runSync({ x: Tensor.zeros([3, 5], 'float32') }),
  );
  using both = await loadSession(model, { dimensions: { rows: 2, columns: 3, none: 4 } });
  const [fixed] = both.inputs;
  equal(fixed?.kind === 'tensor' && fixed.shape, [2, 3]);
  await rejects('TypeError', 'dimensions.rows', loadSession(model, { dimensions: { rows: -1 } }));
});

testWith(missing, 'other options reach ONNX Runtime', async () => {
  const model = makeModel('Relu', 1, 'float32');
  const x = Tensor.from([[-1, 2]], { dtype: 'float32' });
  for (const options of [
    { memory: 'arena' },
    { optimization: 'none' },
    { config: { 'session.disable_prepacking': '1' } },
  ] as const) {
    using session = await loadSession(model, options);
    equal((session.runSync({ x }).y as Tensor).toArray(), [[0, 2]]);
  }
  await rejects('OnnxRuntimeError', 'none.so', loadSession(model, { customOperators: ['/none.so'] }));
  using session = await loadSession(model);
  throws('OnnxRuntimeError', '', () => session.runSync({ x }, { config: { '': 'x' } }));
});
