/** Workers that fuzz, and are terminated in the middle of whatever request they make at that moment. */

import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { runtime } from '../harness.js';
import { Random } from './random.js';

// Tests of Python and TVM-FFI have their own workers for the other runtimes.
const suites = runtime === 'node' ? ['core', 'python', 'tvm-ffi'] : ['core'];

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
    const suite = suites[done % suites.length] as string;
    log(`worker ${suite} ${first}`);
    const worker = new Worker(new URL('./worker.js', import.meta.url), { workerData: { suite, first } });
    let error: unknown = null;
    worker.on('error', (found) => {
      error = found;
    });
    await Promise.race([once(worker, 'message'), once(worker, 'exit')]);
    await new Promise((resolve) => setTimeout(resolve, random.integer(0, 30)));
    await worker.terminate();
    if (error !== null) throw error;
  }
  return done;
}
