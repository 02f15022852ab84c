/** Data-parallel inference: each actor loads the model once, and the next batch goes to the actor that is free. */

import { Tensor } from 'dlpack';
import * as ray from 'dlpack/ray';
import { type Model, RemoteModel } from './model.js';

const ACTORS = 2;
const BATCHES = 8;

// A cluster of this machine. { address: '10.0.0.1:6379' } connects to a larger one.
await ray.init({ address: 'local', numCpus: ACTORS, objectStoreMemory: 2 ** 28, includeDashboard: false });
const models = await Promise.all(Array.from({ length: ACTORS }, () => RemoteModel.remote()));

const results: number[] = [];
let next = 0;

/** Gives one actor batches until none is left. */
async function feed(model: ray.ActorHandle<Model>): Promise<void> {
  while (next < BATCHES) {
    const i = next++;
    const batch = Tensor.empty([64, 1024], 'float32');
    batch.fill(i);
    const ref = await ray.put(batch); // into the object store: the only copy of the batch
    batch.dispose();
    const answer = await model.predict.remote(ref);
    const y = await ray.get(answer); // read-only, over the memory of the store
    results[i] = y.get(63, 1023) as number;
    for (const used of [y, answer, ref]) used[Symbol.dispose](); // so that the store can use their memory again
  }
}

await Promise.all(models.map(feed));
console.log(results.join(' ')); // 0 2 4 6 8 10 12 14
const pids = await ray.get(await Promise.all(models.map((model) => model.pid.remote())));
console.log(`${new Set(pids).size} processes`); // 2 processes
await ray.shutdown();
