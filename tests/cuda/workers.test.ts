import { Worker } from 'node:worker_threads';
import { liveCounts } from 'dlpack/debug';
import { openTensor, type TensorToken } from 'dlpack/shared';
import { equal, ok } from '../assert.js';
import { runChild } from '../child.js';
import { collectUntil } from '../harness.js';
import { fake, fakeDriverPath } from './fake.js';
import { cudaTest } from './machine.js';

cudaTest("a worker's tensor outlives the worker, and its streams, events and memory are released", async () => {
  fake.configure({ queriesRun: true });
  const before = fake.live();
  const { storages } = liveCounts();
  const worker = new Worker(new URL('./children/worker.js', import.meta.url), { workerData: fakeDriverPath });
  const token = await new Promise<TensorToken>((resolve, reject) => {
    worker.on('message', resolve);
    worker.on('error', reject);
  });
  const x = openTensor(token);
  await worker.terminate();
  equal([x.device, x.to('cpu').toArray()], ['cuda:0', [2, 2, 2, 2]]);
  x.dispose();
  ok(
    await collectUntil(() => liveCounts().storages <= storages),
    `${liveCounts().storages - storages} storages are left`,
  );
  ok(await collectUntil(() => fake.live().streams <= before.streams && fake.live().events <= before.events));
  equal(fake.live().pinned, before.pinned);
});

cudaTest("work on another device does not change the thread's current context", async () => {
  const worker = new Worker(new URL('./children/second-device.js', import.meta.url), { workerData: fakeDriverPath });
  const contexts = await new Promise<bigint[]>((resolve, reject) => {
    worker.on('message', resolve);
    worker.on('error', reject);
  });
  await worker.terminate();
  equal(contexts, [0n, 0n]);
});

cudaTest('the process ends with tensors, streams, casts and other queued work alive', () => {
  const { code, signal, output } = runChild(import.meta.url, './children/exit.js');
  equal([code, signal], [0, null], output);
  ok(output.includes('leaving with cuda:0 false'), output);
});
