/** Ends workers in the middle of uploads to a device: at once, after the first step, and while the device is busy. */

import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { loadDriver, Stream } from 'dlpack/cuda';
import { emptyCache, liveCounts } from 'dlpack/debug';
import { openSafetensorsSync } from 'dlpack/files';
import { collectUntil } from '../../harness.js';
import { fake, fakeDriverPath } from '../fake.js';

const moments = ['at once', 'after a step', 'while the device is busy'] as const;
interface Data {
  readonly path: string;
  readonly moment: (typeof moments)[number];
}

loadDriver({ path: fakeDriverPath });
if (isMainThread) await main();
else begin(workerData as Data);

/** The worker: begins uploads that nobody awaits. */
function begin({ path, moment }: Data): void {
  const file = openSafetensorsSync(path);
  const stream = new Stream();
  if (moment === 'while the device is busy') fake.delay(stream.handle);
  const say = () => parentPort?.postMessage(stream.handle);
  const onProgress = moment === 'after a step' ? say : () => {};
  const upload = () => file.getAsync('big', { device: 'cuda:0', onProgress });
  void stream.use(upload).catch(() => {});
  void upload().catch(() => {});
  if (moment !== 'after a step') say();
  setInterval(() => file, 1000);
}

async function main(): Promise<void> {
  fake.configure({ queriesRun: true, patience: 60_000 });
  {
    // Makes what the device keeps for the whole process.
    using file = openSafetensorsSync(process.argv[2] as string);
    using _x = await file.getAsync('big', { device: 'cuda:0' });
  }
  emptyCache();
  const before = { ...liveCounts(), ...fake.live() };
  for (const moment of moments) {
    for (let round = 0; round < 3; round++) {
      const worker = new Worker(new URL(import.meta.url), { workerData: { path: process.argv[2], moment } });
      const handle = await new Promise<bigint>((resolve, reject) => {
        worker.on('message', resolve);
        worker.on('error', reject);
      });
      const ended = worker.terminate();
      if (moment === 'while the device is busy') fake.release(handle);
      await ended;
    }
  }
  const left = () => {
    emptyCache();
    const now = { ...liveCounts(), ...fake.live() };
    const names = ['storages', 'imports', 'exports', 'pinned', 'pool', 'device', 'streams', 'events'] as const;
    return names.filter((name) => now[name] > before[name]).map((name) => `${name}: ${now[name] - before[name]}`);
  };
  await collectUntil(() => left().length === 0);
  console.log(left().join() || 'released');
  for (const error of fake.errors()) console.log(error);
  process.exit(0);
}
