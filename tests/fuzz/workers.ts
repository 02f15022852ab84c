/** Workers that fuzz the core and are terminated in the middle, whatever they do at that moment. */

import { Worker } from 'node:worker_threads';
import { Random } from './random.js';

export async function fuzzWorkers(
  seed: number,
  steps: number,
  log: (line: string) => void,
  isOver = () => false,
): Promise<number> {
  const random = new Random(seed);
  let done = 0;
  for (; done < steps && !isOver(); done++) {
    const first = random.integer(1, 1_000_000);
    log(`worker ${first}`);
    const worker = new Worker(new URL('./worker.js', import.meta.url), { workerData: first });
    await new Promise((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
    });
    await new Promise((resolve) => setTimeout(resolve, random.integer(0, 30)));
    await worker.terminate();
  }
  return done;
}
