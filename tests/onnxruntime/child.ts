/** What could end a process, in a process of its own. Prints `done`. */

import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { Tensor } from 'dlpack';
import { liveCounts } from 'dlpack/debug';
import { loadRuntime, loadSession } from 'dlpack/onnxruntime';
import { makeModel } from '../interop/libraries/model.js';
import { chain } from './chain.js';
import './library.js';

declare const gc: () => void;

const x = Tensor.zeros([256, 256], 'float32');
const ort = () =>
  createRequire(fileURLToPath(new URL('../../../.libraries/package.json', import.meta.url)))('onnxruntime-node') as {
    InferenceSession: { create(model: Uint8Array): Promise<object> };
  };
const relu = makeModel('Relu', 1, 'float32');

async function useBoth(): Promise<void> {
  const theirs = await ort().InferenceSession.create(relu);
  const session = await loadSession(relu);
  const { y } = session.runSync({ x: Tensor.from([[-1, 2]], { dtype: 'float32' }) });
  if (String((y as Tensor).toArray()) !== '0,2' || theirs === undefined) throw new Error('wrong result');
}

const cases: Record<string, () => Promise<void>> = {
  async exit() {
    const session = await loadSession(chain(20_000, 256), { threads: 1 });
    for (let i = 0; i < 4; i++) void session.run({ x });
    console.log('done');
    process.exit(0);
  },
  async 'load at the end'() {
    void loadSession(chain(20_000, 16));
    await new Promise((resolve) => setTimeout(resolve, 1)); // a thread has the load
    console.log('done');
    process.exit(0);
  },
  async 'load in a worker'() {
    const worker = new Worker(new URL('./worker-load.js', import.meta.url));
    await new Promise((resolve) => worker.once('message', resolve));
    await worker.terminate();
    while (liveCounts().storages > 1) await new Promise((resolve) => setTimeout(resolve, 1)); // only x is left
    console.log('done');
  },
  async reports() {
    const home = mkdtempSync(join(tmpdir(), 'dlpack-home-'));
    Object.assign(process.env, { HOME: home, XDG_CACHE_HOME: home });
    (await loadSession(relu)).runSync({ x });
    const written = readdirSync(home, { recursive: true }).filter((name) => /onnxruntime/i.test(String(name)));
    rmSync(home, { recursive: true });
    if (written.length > 0) throw new Error(`ONNX Runtime wrote ${written}`);
    console.log('done');
  },
  async return() {
    const session = await loadSession(chain(20, 256));
    void session.run({ x }).then(() => console.log('done'));
  },
  async terminate() {
    const worker = new Worker(new URL('./worker.js', import.meta.url));
    await new Promise((resolve) => worker.once('message', resolve));
    await worker.terminate();
    console.log('done');
  },
  async collect() {
    for (let i = 0; i < 20; i++) {
      const session = await loadSession(relu);
      session.runSync({ x });
    }
    const isClean = () => liveCounts().storages <= 2;
    for (let i = 0; i < 200 && !isClean(); i++) {
      gc();
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    if (!isClean()) throw new Error(JSON.stringify(liveCounts()));
    console.log('done');
  },
  async many() {
    const session = await loadSession(relu);
    const run = async () => (await session.run({ x: small })).y as Tensor;
    const small = Tensor.zeros([2, 2], 'float32');
    const rounds = async (count: number) => {
      for (let i = 0; i < count; i++) {
        for (let k = 0; k < 950; k++) (session.runSync({ x: small }).y as Tensor).dispose();
        for (const y of await Promise.all(Array.from({ length: 50 }, run))) y.dispose();
      }
      gc();
      const { rss, heapTotal, heapUsed } = process.memoryUsage();
      return (rss - heapTotal + heapUsed) / 2 ** 20; // without what the engine keeps for new objects
    };
    const before = await rounds(20);
    const { storages } = liveCounts();
    const after = await rounds(100);
    // A leak of one small object in each of the hundred thousand runs would take more.
    if (after - before > 16) throw new Error(`${before} MiB before, ${after} MiB after`);
    if (liveCounts().storages !== storages) throw new Error(JSON.stringify(liveCounts()));
    console.log('done');
  },
  async first() {
    await loadSession(relu);
    await useBoth();
    console.log('done');
  },
  async named() {
    const { version, from } = loadRuntime();
    await useBoth();
    console.log(version, from);
  },
  async second() {
    await useBoth();
    await loadSession(relu);
    console.log('done');
  },
};

await cases[process.argv[2] as string]?.();
