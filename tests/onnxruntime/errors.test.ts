import { Tensor } from 'dlpack';
import { addressOf } from 'dlpack/native';
import { loadSession } from 'dlpack/onnxruntime';
import { equal, ok, rejects, throws } from '../assert.js';
import { testWith } from '../harness.js';
import { makeGraph, makeModel } from '../interop/libraries/model.js';
import { missing } from './library.js';

const product = makeGraph({
  nodes: [{ op: 'MatMul', inputs: ['a', 'b'], outputs: ['y'] }],
  inputs: { a: { tensor: 1, shape: [4, 4] }, b: { tensor: 1, shape: [4, 4] } },
  outputs: { y: { tensor: 1, shape: [4, 4] } },
});

testWith(missing, 'values that do not fit name their input', async () => {
  using session = await loadSession(product);
  const a = Tensor.zeros([4, 4], 'float32');
  throws('ValueError', "a value for input 'b'", () => session.runSync({ a }));
  throws('ValueError', "did you mean 'b'", () => session.runSync({ a, bb: a }));
  throws('ValueError', "float32 for input 'b'", () => session.runSync({ a, b: Tensor.zeros([4, 4], 'int32') }));
  throws('LayoutError', "[4, 4] for input 'b'", () => session.runSync({ a, b: Tensor.zeros([4, 5], 'float32') }));
  throws('TypeError', "a tensor for input 'b'", () => session.runSync({ a, b: 3 as never }));
  throws('TypeError', 'an object such as', () => session.runSync(a as never));
  throws('TypeError', 'an object such as', () => session.runSync(null as never));
  const { signal } = new AbortController();
  throws('ValueError', 'use run()', () => session.runSync({ a, b: a }, { signal } as never));
  await rejects('TypeError', 'an AbortSignal for signal', session.run({ a, b: a }, { signal: {} as never }));
  await rejects('TypeError', 'an AbortSignal for signal', loadSession(product, { signal: null as never }));
  throws('TypeError', 'outputs, device, signal or config', () =>
    session.runSync({ a, b: a }, { output: ['y'] } as never),
  );
});

testWith(missing, 'errors of what an input is name the input', async () => {
  using session = await loadSession(product);
  const b = Tensor.zeros([4, 4], 'float32');
  const take = (a: unknown) => () => session.runSync({ a: a as never, b });
  const disposed = Tensor.zeros([4, 4], 'float32');
  disposed.dispose();
  throws('DisposedError', "input 'a': Expected", take(disposed));
  throws('TypeError', "input 'a': Expected", take({}));
  const producer = (fields: object) => ({
    [Symbol.for('dlpack')]: () => ({
      version: [1, 3],
      data: new Float32Array(16).buffer,
      byteOffset: 0,
      device: { type: 1, id: 0 },
      dtype: { code: 2, bits: 32, lanes: 1 },
      shape: [4, 4],
      strides: null,
      flags: 0,
      ...fields,
    }),
  });
  throws('LayoutError', "input 'a': Expected an address", take(producer({ data: 0n })));
  throws('LayoutError', "input 'a': Expected", take(producer({ shape: [4, 5] })));
  const failure = new RangeError('of the program');
  const failing = {
    [Symbol.for('dlpack')]: () => {
      throw failure;
    },
  };
  let thrown: unknown;
  try {
    take(failing)();
  } catch (error) {
    thrown = error;
  }
  equal([thrown === failure, failure.message], [true, 'of the program'], 'an error of the program stays as it is');
  try {
    take(disposed)();
  } catch (error) {
    ok(String((error as Error).stack).includes("input 'a': Expected"), 'the stack says it, too');
  }
});

testWith(missing, 'models of a later version of ONNX', async () => {
  const negation = (opset: number) =>
    makeGraph({
      nodes: [{ op: 'Neg', inputs: ['x'], outputs: ['y'] }],
      inputs: { x: { tensor: 1, shape: [4] } },
      outputs: { y: { tensor: 1, shape: [4] } },
      opset,
    });
  const later = negation(13);
  later[1] = 99; // the version of the format
  for (const model of [later, negation(99)]) {
    await rejects('OnnxRuntimeError', 'the model needs a newer version of ONNX Runtime', loadSession(model));
  }
});

testWith(missing, 'outputs that overlap an input, each other, or another run', async () => {
  using session = await loadSession(product);
  const memory = Tensor.zeros([3, 4, 4], 'float32');
  const [a, b, y] = [0, 1, 2].map((i) => memory.slice([i, i + 1]).reshape([4, 4])) as [Tensor, Tensor, Tensor];
  throws('BufferError', "overlaps output 'y' of the same run", () => session.runSync({ a, b }, { outputs: { y: a } }));
  const run = session.run({ a, b }, { outputs: { y } });
  await rejects('BufferError', 'of a run that has not ended', session.run({ a, b }, { outputs: { y } }));
  await rejects('BufferError', 'of a run that has not ended', session.run({ a: y, b }));
  await run;
  await session.run({ a: y, b });
});

testWith(missing, 'outputs that cannot be written to', async () => {
  using session = await loadSession(product);
  const a = Tensor.zeros([4, 4], 'float32');
  const into = (y: unknown) => () => session.runSync({ a, b: a }, { outputs: { y } as never });
  throws('LayoutError', 'contiguous', into(Tensor.zeros([4, 8], 'float32').slice(null as never, [0, 4])));
  throws('TypeError', "a Tensor, or null for output 'y'", into([1]));
  throws('LayoutError', "[4, 4] for output 'y'", into(Tensor.zeros([4, 5], 'float32')));
  throws('ValueError', "float32 for output 'y'", into(Tensor.zeros([4, 4], 'float64')));
  throws('BufferError', "output 'y': Expected memory that native code may keep", () =>
    into(Tensor.wrap(new Float32Array(16), { shape: [4, 4] }))(),
  );
  const disposed = Tensor.zeros([4, 4], 'float32');
  disposed.dispose();
  throws('DisposedError', "output 'y': Expected", into(disposed));
  throws('ValueError', "did you mean 'y'", () => session.runSync({ a, b: a }, { outputs: ['yy'] }));
});

testWith(missing, 'models that cannot be loaded', async () => {
  const good = makeModel('Relu', 1, 'float32');
  const codeOf = async (model: never) => {
    const error = await loadSession(model).then(
      () => ({ code: 'loaded' }),
      (reason) => reason as { code: string },
    );
    return error.code;
  };
  equal(await codeOf('/none/model.onnx' as never), 'NO_SUCHFILE');
  equal(await codeOf(new Uint8Array(0) as never), 'INVALID_ARGUMENT');
  for (let length = 1; length < good.length; length += 7) {
    const code = await codeOf(good.slice(0, length) as never);
    ok(['INVALID_PROTOBUF', 'INVALID_GRAPH', 'FAIL', 'INVALID_ARGUMENT', 'NOT_IMPLEMENTED'].includes(code), code);
  }
  await rejects('ValueError', 'fetch it', loadSession(new URL('https://example.org/model.onnx')));
  await rejects('TypeError', 'a path', loadSession(3 as never));
  await rejects('ValueError', 'NUL', loadSession('a\0b'));
  await rejects('TypeError', 'did you mean', loadSession(good, { thread: 1 } as never));
  await rejects('TypeError', 'an integer from 1', loadSession(good, { threads: 0 }));
  await rejects('ValueError', "did you mean 'all'", loadSession(good, { optimization: 'al' as never }));
  await rejects('OnnxRuntimeError', '', loadSession(good, { providers: ['none'] }));
});

testWith(missing, 'a disposed session says so', async () => {
  const session = await loadSession(product);
  session.dispose();
  session.dispose();
  const a = Tensor.zeros([4, 4], 'float32');
  throws('DisposedError', 'load the model again', () => session.runSync({ a, b: a }));
  await rejects('DisposedError', 'load the model again', session.run({ a, b: a }));
});

const passing = makeGraph({
  nodes: [{ op: 'Neg', inputs: ['x'], outputs: ['y'] }],
  inputs: { x: { tensor: 1, shape: ['n'] } },
  outputs: { x: { tensor: 1, shape: ['n'] }, y: { tensor: 1, shape: ['n'] } },
});

testWith(missing, 'an output that is an input of the model has memory of its own', async () => {
  using session = await loadSession(passing);
  const pairs = Tensor.from([1, 2, 3, 4, 5, 6], { dtype: 'float32' }).reshape([3, 2]);
  const column = pairs.slice(null as never, [0, 1]).reshape([3]); // strided, so the run reads a copy that it releases
  for (const input of [Tensor.from([1, 3, 5], { dtype: 'float32' }), column]) {
    const { x } = (await session.run({ x: input })) as { x: Tensor };
    const again = session.runSync({ x: input }).x as Tensor;
    ok(addressOf(x) !== addressOf(input));
    input.dispose();
    Tensor.from([7, 7, 7], { dtype: 'float32' });
    equal(x.toArray(), [1, 3, 5]);
    equal(again.toArray(), [1, 3, 5]);
  }
  const x = Tensor.zeros([3], 'float32');
  const outputs = { x: Tensor.zeros([3], 'float32') };
  throws('ValueError', "null for output 'x', which is an input as well", () => session.runSync({ x }, { outputs }));
});

testWith(missing, 'an output must not overlap what a run without given outputs still reads', async () => {
  using session = await loadSession(product);
  const [a, b, c] = [0, 1, 2].map(() => Tensor.zeros([4, 4], 'float32')) as [Tensor, Tensor, Tensor];
  const run = session.run({ a, b });
  throws('BufferError', 'of a run that has not ended', () => session.runSync({ a: b, b }, { outputs: { y: a } }));
  session.runSync({ a, b }, { outputs: { y: c } });
  await run;
  session.runSync({ a: b, b }, { outputs: { y: a } });
});

testWith(missing, 'the code of an input disposes another one, or aborts the run', async () => {
  using session = await loadSession(product);
  const b = Tensor.zeros([4, 4], 'float32');
  const first = () => Tensor.zeros([4, 4], 'float32');
  const inputs = (action: (a: Tensor) => void) => {
    const a = first();
    return {
      a,
      get b() {
        action(a);
        return b;
      },
    };
  };
  throws('DisposedError', "input 'a' but the code of another input", () => session.runSync(inputs((a) => a.dispose())));
  await rejects('DisposedError', 'the code of another input', session.run(inputs((a) => a.dispose())));
  const controller = new AbortController();
  const reason = new Error('enough');
  const stopped = session.run(
    inputs(() => controller.abort(reason)),
    { signal: controller.signal },
  );
  equal((await stopped.catch((error) => error)) === reason, true);
});

testWith(missing, 'a signal whose code runs the model does not change the run', async () => {
  using session = await loadSession(product);
  const one = Tensor.full([4, 4], 1, 'float32');
  const two = Tensor.full([4, 4], 2, 'float32');
  let nested = 0;
  const look = () => {
    nested++;
    session.runSync({ a: two, b: two });
    return false;
  };
  const { signal } = new AbortController();
  Object.defineProperty(signal, 'aborted', { get: look });
  Object.assign(signal, { addEventListener: look, removeEventListener: look });
  const { y } = await session.run({ a: one, b: one }, { signal });
  equal([(y as Tensor).get(0, 0), nested > 2], [4, true]);
});

testWith(missing, 'a deleter that throws ends the use of the memory', async () => {
  using session = await loadSession(product);
  const [b, y] = [Tensor.zeros([4, 4], 'float32'), Tensor.zeros([4, 4], 'float32')];
  const a = {
    [Symbol.for('dlpack')]: () => ({
      version: [1, 3],
      data: new Float32Array(16).buffer,
      byteOffset: 0,
      device: { type: 1, id: 0 },
      dtype: { code: 2, bits: 32, lanes: 1 },
      shape: [4, 4],
      strides: null,
      flags: 0,
      deleter: () => {
        throw new Error('deleter');
      },
    }),
  };
  const outcome = await session.run({ a, b }, { outputs: { y } }).catch((error) => error);
  ok(String(outcome).includes('threw Error: deleter'), String(outcome));
  await session.run({ a: b, b }, { outputs: { y } });
});

testWith(missing, 'names that objects have already, and options of the wrong type', async () => {
  const model = makeGraph({
    nodes: [{ op: 'Neg', inputs: ['x'], outputs: ['__proto__'] }],
    inputs: { x: { tensor: 1, shape: [1] } },
    outputs: { ['__proto__']: { tensor: 1, shape: [1] } },
  });
  using session = await loadSession(model);
  equal(Object.keys(session.runSync({ x: Tensor.zeros([1], 'float32') })), ['__proto__']);
  throws('OnnxRuntimeError', 'did not begin one', () => session.endProfiling());
  await rejects('TypeError', "an array such as ['cuda']", loadSession(model, { providers: 'cuda' as never }));
  await rejects('OnnxRuntimeError', '', loadSession(model, { providers: ['constructor'] }));
  await rejects('TypeError', 'batch: 1', loadSession(model, { dimensions: null as never }));
  const config = { 'session.use_ort_model_bytes_directly': '1' };
  await rejects('ValueError', 'bytes of the model', loadSession(model, { config }));
});
