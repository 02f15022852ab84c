/** What ends a process, or computes wrong values, if it reaches ONNX Runtime. Each case runs in a process of its own and prints `done`. */

import { fromDLPack, Tensor } from 'dlpack';
import { liveCounts } from 'dlpack/debug';
import { loadSession, type Session } from 'dlpack/onnxruntime';
import { equal, ok, rejects } from '../assert.js';
import { makeGraph, makeModel } from '../interop/libraries/model.js';
import { chain } from './chain.js';
import './library.js';

const SIZE = 64;
const matrix = () => Tensor.zeros([SIZE, SIZE], 'float32');
const tensor = (value: unknown) => value as Tensor;

/** A run that has begun: of many kernels, so that it has not ended when the case goes on. */
async function withRun(action: (session: Session, x: Tensor) => Promise<void>): Promise<void> {
  const session = await loadSession(chain(2000, SIZE), { threads: 1, concurrency: 1 });
  await action(session, matrix());
  session.dispose();
}

const product = makeGraph({
  nodes: [{ op: 'MatMul', inputs: ['a', 'b'], outputs: ['y'] }],
  inputs: { a: { tensor: 1, shape: [SIZE, SIZE] }, b: { tensor: 1, shape: [SIZE, SIZE] } },
  outputs: { y: { tensor: 1, shape: [SIZE, SIZE] } },
});

const cases: Record<string, () => Promise<void>> = {
  'a session is disposed during a run': () =>
    withRun(async (session, x) => {
      const runs = [session.run({ x }), session.run({ x })];
      session.dispose();
      for (const { y } of await Promise.all(runs)) tensor(y).dispose();
      await rejects('DisposedError', 'load the model again', session.run({ x }));
    }),
  'an input is disposed during a run': () =>
    withRun(async (session, x) => {
      const run = session.run({ x });
      x.dispose();
      for (let i = 0; i < 100; i++) Tensor.full([SIZE, SIZE], 1, 'float32').dispose(); // would take its memory
      const { y } = await run;
      equal(Math.max(...(tensor(y).data as Float32Array)), 0);
    }),
  'an output is given twice': () =>
    withRun(async (session, x) => {
      const y = matrix();
      const run = session.run({ x }, { outputs: { y } });
      await rejects('BufferError', "output 'y' of a run that has not ended", session.run({ x }, { outputs: { y } }));
      await run;
    }),
  'a given output is disposed during a run': () =>
    withRun(async (session, x) => {
      const y = matrix();
      const run = session.run({ x }, { outputs: { y } });
      y.dispose();
      await run;
    }),
  'an output overlaps an input': async () => {
    using session = await loadSession(product);
    const memory = Tensor.zeros([2 * SIZE, SIZE], 'float32');
    const a = memory.slice([0, SIZE]);
    const y = memory.slice([1, SIZE + 1]);
    await rejects('BufferError', "overlaps output 'y'", session.run({ a, b: matrix() }, { outputs: { y } }));
    await rejects('BufferError', "overlaps output 'y'", session.run({ a, b: matrix() }, { outputs: { y: a } }));
  },
  'an input is missing': async () => {
    using session = await loadSession(product);
    await rejects('ValueError', "a value for input 'b'", session.run({ a: matrix() }));
    await rejects('TypeError', "a tensor for input 'b'", session.run({ a: matrix(), b: null }));
  },
  'an input is a NULL pointer': async () => {
    using session = await loadSession(product);
    const none = {
      [Symbol.for('dlpack')]: () => ({
        version: [1, 3],
        data: 0n,
        byteOffset: 0,
        device: { type: 1, id: 0 },
        dtype: { code: 2, bits: 32, lanes: 1 },
        shape: [SIZE, SIZE],
        strides: null,
        flags: 0,
        deleter: () => {},
      }),
    };
    await rejects('LayoutError', 'NULL', session.run({ a: none, b: matrix() }));
  },
  'shapes and dtypes are wrong': async () => {
    using session = await loadSession(product);
    const b = matrix();
    for (const shape of [[], [SIZE], [SIZE, SIZE + 1], [0, SIZE], [SIZE, SIZE, 1]]) {
      await rejects('LayoutError', "for input 'a'", session.run({ a: Tensor.zeros(shape, 'float32'), b }));
    }
    await rejects('ValueError', "for input 'a'", session.run({ a: Tensor.zeros([SIZE, SIZE], 'float64'), b }));
    const tooSmall = Tensor.zeros([1, 1], 'float32');
    const given = (y: Tensor) => session.run({ a: b, b }, { outputs: { y } });
    await rejects('LayoutError', "for output 'y'", given(tooSmall));
    await rejects('ValueError', "for output 'y'", given(Tensor.zeros([SIZE, SIZE], 'int8')));
    using open = await loadSession(makeModel('Relu', 1, 'float32')); // the model does not say the shape
    await rejects('OnnxRuntimeError', '', open.run({ x: b }, { outputs: { y: tooSmall } }));
    const { y } = await session.run({ a: b, b });
    equal([...tensor(y).shape], [SIZE, SIZE]);
  },
  'models are truncated or damaged': async () => {
    const good = makeModel('Relu', 1, 'float32');
    const outcomes = new Set<string>();
    for (let i = 0; i < good.length; i++) {
      const damaged = Uint8Array.from(good, (byte, at) => (at === i ? byte ^ 0xff : byte));
      for (const model of [good.slice(0, i), damaged]) {
        const outcome = await loadSession(model).catch((error: { tag?: string }) => String(error.tag));
        if (typeof outcome === 'string') outcomes.add(outcome);
        else outcome.dispose();
      }
    }
    equal([...outcomes], ['OnnxRuntimeError']);
  },
  'an output has 4 TiB': async () => {
    const model = makeGraph({
      nodes: [{ op: 'Expand', inputs: ['x', 's'], outputs: ['y'] }],
      inputs: { x: { tensor: 1, shape: [1] }, s: { tensor: 7, shape: [1] } },
      outputs: { y: { tensor: 1, shape: ['n'] } },
    });
    using session = await loadSession(model);
    const x = Tensor.zeros([1], 'float32');
    const s = Tensor.from([1n << 40n], { dtype: 'int64' });
    await rejects('OnnxRuntimeError', '', session.run({ x, s }));
    const { y } = await session.run({ x, s: Tensor.from([3n], { dtype: 'int64' }) });
    equal(tensor(y).toArray(), [0, 0, 0]);
  },
  'an output is read after everything else is gone': async () => {
    const session = await loadSession(makeModel('Neg', 1, 'float32'));
    const x = Tensor.from([[1, 2]], { dtype: 'float32' });
    const { y } = await session.run({ x });
    session.dispose();
    x.dispose();
    const again = fromDLPack(tensor(y));
    tensor(y).dispose();
    equal(again.toArray(), [[-1, -2]]);
    again.dispose();
    equal(liveCounts().storages, 0);
  },
};

export const names = Object.keys(cases);

const wanted = process.argv[2];
if (wanted !== undefined) {
  const action = cases[wanted];
  ok(action !== undefined, wanted);
  await action?.();
  console.log('done');
}
