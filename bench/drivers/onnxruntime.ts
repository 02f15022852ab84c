/** dlpack/onnxruntime and onnxruntime-node in one process, on the same libonnxruntime. Prints one line of JSON. */

import { stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { Tensor } from 'dlpack';
import { loadRuntime, loadSession, type Session } from 'dlpack/onnxruntime';
import { makeModel } from '../../tests/interop/libraries/model.js';
import { chain } from '../../tests/onnxruntime/chain.js';

declare const gc: () => void;

interface OrtTensor {
  readonly data: Float32Array;
}
interface OrtSession {
  run(feeds: Record<string, OrtTensor>): Promise<Record<string, OrtTensor>>;
}
interface Ort {
  readonly Tensor: new (type: string, data: Float32Array, dims: readonly number[]) => OrtTensor;
  readonly InferenceSession: { create(model: Uint8Array, options: object): Promise<OrtSession> };
}
const load = createRequire(fileURLToPath(new URL('../../../.libraries/package.json', import.meta.url)));
const ort = load('onnxruntime-node') as Ort; // first, so that both use its library

/** One side: a run of a model, which resolves when the outputs were released. */
type Run = () => Promise<unknown>;
/** Two sides of a model with the input x. */
interface Pair {
  readonly session: Session;
  readonly x: Tensor<'float32'>;
  readonly ours: Run;
  readonly theirs: Run;
}

/** `threads`: of a run; as many as the libraries take by themselves when null. */
async function pairOf(model: Uint8Array, shape: readonly number[], threads: number | null = 1): Promise<Pair> {
  const session = await loadSession(model, threads === null ? {} : { threads });
  const other = await ort.InferenceSession.create(model, {
    ...(threads !== null && { intraOpNumThreads: threads }),
    logSeverityLevel: 4,
  });
  const x = Tensor.zeros(shape, 'float32');
  const input = new ort.Tensor('float32', x.data, shape);
  return {
    session,
    x,
    ours: async () => ((await session.run({ x })).y as Tensor).dispose(),
    theirs: async () => (await other.run({ x: input })).y,
  };
}

const now = () => performance.now();
const many = (count: number, run: Run) => Promise.all(Array.from({ length: count }, run));

/** The longest gap of a timer of one millisecond, in milliseconds, while `work` runs. */
async function longestGap(work: Promise<unknown>): Promise<number> {
  let last = now();
  let longest = 0;
  const look = () => {
    longest = Math.max(longest, now() - last);
    last = now();
  };
  const timer = setInterval(look, 1);
  await work;
  look();
  clearInterval(timer);
  return longest;
}

/** Milliseconds until a file operation answers beside sixteen runs. */
async function statTime(run: Run): Promise<number> {
  const work = many(16, run);
  await new Promise((resolve) => setTimeout(resolve, 0));
  const start = now();
  await stat('.');
  const time = now() - start;
  await work;
  return time;
}

/** Milliseconds of one run, the median of `samples`. */
async function timeOf(run: Run, samples: number): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < samples; i++) {
    const start = now();
    await run();
    times.push(now() - start);
  }
  return times.sort((a, b) => a - b)[samples >> 1] as number;
}

/** An idle process gives back the blocks that it kept for the next tensor, about once a second. */
async function becomeIdle(): Promise<void> {
  for (let i = 0; i < 30; i++) {
    gc();
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** MiB above the start after four outputs were held and released, and the process was idle for a while. */
async function memoryLeft(make: () => Promise<unknown>, release: (output: never) => void): Promise<number> {
  release((await make()) as never);
  await becomeIdle();
  const start = process.memoryUsage.rss();
  const held = [await make(), await make(), await make(), await make()];
  for (const output of held.splice(0)) release(output as never);
  await becomeIdle();
  return (process.memoryUsage.rss() - start) / 2 ** 20;
}

const rows: Record<string, { ours: number; theirs: number }> = {};

const large = await pairOf(makeModel('Relu', 1, 'float32'), [4096, 4096]);
rows.memory = {
  ours: await memoryLeft(
    async () => (await large.session.run({ x: large.x })).y,
    (y: Tensor) => y.dispose(),
  ),
  theirs: await memoryLeft(large.theirs, () => {}),
};
rows.large = { ours: await timeOf(large.ours, 9), theirs: await timeOf(large.theirs, 9) };

const onAll = await pairOf(makeModel('Relu', 1, 'float32'), [4096, 4096], null);
await onAll.ours();
rows.largeOnAll = { ours: await timeOf(onAll.ours, 9), theirs: await timeOf(onAll.theirs, 9) };

/** The model of a run of about 40 ms: so many products as this machine needs for that. */
const RUN_MS = 40;
const FEW = 30;
const probe = await pairOf(chain(FEW, 256), [256, 256]);
await many(2, probe.ours);
const products = Math.round((FEW * RUN_MS) / (await timeOf(probe.ours, 5)));
const medium = await pairOf(chain(products, 256), [256, 256]);
await many(2, medium.ours);
rows.run = { ours: await timeOf(medium.ours, 5), theirs: await timeOf(medium.theirs, 5) };
rows.gap = { ours: await longestGap(many(32, medium.ours)), theirs: await longestGap(many(32, medium.theirs)) };
rows.stat = { ours: await statTime(medium.ours), theirs: await statTime(medium.theirs) };

const tiny = await pairOf(makeModel('Add', 2, 'float32'), [1, 4]);
const sync = async () => {
  for (let i = 0; i < 1000; i++) (tiny.session.runSync({ x: tiny.x }).y as Tensor).dispose();
};
const awaited = async () => {
  for (let i = 0; i < 1000; i++) await tiny.theirs();
};
/** A thousand runs, sixteen at a time. */
const inFlight = (run: Run) => async () => {
  let left = 1000;
  await many(16, async () => {
    while (left-- > 0) await run();
  });
};
const both = [inFlight(tiny.ours), inFlight(tiny.theirs)] as const;
/** Until the engine has compiled all that it will, as in a program that runs for minutes. */
for (let i = 0; i < 30; i++) for (const run of [sync, awaited, ...both]) await run();
rows.sync = { ours: await timeOf(sync, 15), theirs: await timeOf(awaited, 15) };
rows.inFlight = { ours: await timeOf(both[0], 15), theirs: await timeOf(both[1], 15) };

console.log(JSON.stringify({ rows, products, version: loadRuntime().version }));
process.exit(0);
