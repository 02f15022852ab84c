/** The batches of examples/python-server: which inputs join, when a batch starts, refusals, and runs that fail. */

import { Tensor } from 'dlpack';
import { Batches, type BatchOptions, Overloaded } from '../../examples/python-server/batches.js';
import { equal, ok, rejection } from '../assert.js';
import { test } from '../harness.js';

/** A batch that the model computes until the test ends it. */
interface Run {
  /** The inputs, which the model answers unchanged. */
  readonly inputs: unknown;
  answer(): void;
  fail(error: Error): void;
}

/** Batches of three at most, without a deadline that a test would see. */
function made(options: Partial<BatchOptions> = {}) {
  const runs: Run[] = [];
  const run = (batch: Tensor): Promise<Tensor> => {
    const inputs = batch.toArray();
    return new Promise((resolve, fail) => {
      runs.push({ inputs, answer: () => resolve(Tensor.from(inputs as number[][])), fail });
    });
  };
  const batches = new Batches(run, { size: 3, deadline: 1e9, concurrency: 1, limit: 8, ...options });
  const add = (i: number): Promise<unknown> => {
    const added = batches.add(Tensor.from([i]));
    added.catch(() => {}); // some tests look at it later
    return added;
  };
  return { batches, add, runs };
}

/** Lets promises and timers go on until the model has so many runs. */
async function started(runs: readonly Run[], count: number): Promise<Run> {
  while (runs.length < count) await new Promise((resolve) => setTimeout(resolve, 1));
  equal(runs.length, count);
  return runs[count - 1] as Run;
}

test('the first input starts at once, the next ones join up to the size, and each gets its row', async () => {
  const { batches, add, runs } = made();
  const added = [0, 1, 2, 3, 4].map(add);
  equal([runs.map(({ inputs }) => inputs), batches.waiting], [[[[0]]], 4]);
  runs[0]?.answer();
  const second = await started(runs, 2);
  equal([second.inputs, batches.waiting], [[[1], [2], [3]], 1]);
  second.answer();
  const third = await started(runs, 3); // no other batch runs, so that the last input waits for nothing
  equal([third.inputs, batches.waiting], [[[4]], 0]);
  third.answer();
  equal(await Promise.all(added), [[0], [1], [2], [3], [4]]);
});

test('beside another batch, one starts when it is full', async () => {
  const { batches, add, runs } = made({ concurrency: 2 });
  const added = [0, 1, 2].map(add);
  equal([runs.length, batches.waiting], [1, 2]);
  added.push(add(3));
  equal([runs[1]?.inputs, batches.waiting], [[[1], [2], [3]], 0]);
  for (const { answer } of runs) answer();
  equal(await Promise.all(added), [[0], [1], [2], [3]]);
});

test('beside another batch, one with fewer inputs starts at the deadline', async () => {
  const { add, runs } = made({ concurrency: 2, deadline: 1 });
  const added = [add(0), add(1)];
  equal(runs.length, 1);
  const second = await started(runs, 2); // the first one still runs
  equal(second.inputs, [[1]]);
  for (const { answer } of runs) answer();
  equal(await Promise.all(added), [[0], [1]]);
});

test('never more batches than the concurrency, whatever the deadline', async () => {
  const { batches, add, runs } = made({ deadline: 0 });
  const added = [0, 1].map(add);
  await new Promise((resolve) => setTimeout(resolve, 1)); // a timer of the batches would run before
  equal([runs.length, batches.waiting], [1, 1]);
  runs[0]?.answer();
  (await started(runs, 2)).answer();
  equal(await Promise.all(added), [[0], [1]]);
});

test('a full queue refuses, and has room again when a batch starts', async () => {
  const { batches, add, runs } = made({ limit: 2 });
  const added = [0, 1, 2].map(add);
  const refused = add(3);
  equal([runs.length, batches.waiting], [1, 2]);
  ok((await rejection(refused)) instanceof Overloaded);
  runs[0]?.answer();
  const second = await started(runs, 2);
  equal(second.inputs, [[1], [2]]);
  added.push(add(4));
  second.answer();
  (await started(runs, 3)).answer();
  equal(await Promise.all(added), [[0], [1], [2], [4]]);
});

test('a run that fails rejects its inputs, and the next one goes on', async () => {
  const { add, runs } = made({ size: 2 });
  const added = [0, 1, 2, 3].map(add);
  const [first, second] = [new Error('the first'), new Error('the second')];
  runs[0]?.fail(first);
  ok((await rejection(added[0] as Promise<unknown>)) === first);
  (await started(runs, 2)).fail(second);
  for (const i of [1, 2]) ok((await rejection(added[i] as Promise<unknown>)) === second);
  (await started(runs, 3)).answer();
  equal(await added[3], [3]);
});

test('inputs that do not fit together are rejected, and the next ones are answered', async () => {
  const { batches, add, runs } = made({ size: 2 });
  const added = [add(0), add(1), batches.add(Tensor.from([1, 2])), add(3)];
  runs[0]?.answer();
  for (const i of [1, 2]) ok((await rejection(added[i] as Promise<unknown>)) instanceof Error);
  const second = await started(runs, 2);
  equal(second.inputs, [[3]]);
  second.answer();
  equal([await added[0], await added[3]], [[0], [3]]);
});
