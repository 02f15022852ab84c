/**
 * Measures the benefit of two threads on this machine, because virtual processors may be two threads of one core.
 * Integer multiplications run on one unit of a core, which one thread keeps busy.
 */

import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

const multiply = `
  const { parentPort } = require('node:worker_threads');
  const run = () => {
    let a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8;
    for (let i = 0; i < 5e7; i++) {
      a = Math.imul(a, 3); b = Math.imul(b, 3); c = Math.imul(c, 3); d = Math.imul(d, 3);
      e = Math.imul(e, 3); f = Math.imul(f, 3); g = Math.imul(g, 3); h = Math.imul(h, 3);
    }
    return a + b + c + d + e + f + g + h;
  };
  run();
  parentPort.on('message', () => {
    const start = performance.now();
    run();
    parentPort.postMessage(performance.now() - start);
  });
  parentPort.postMessage('ready');
`;

async function answer(worker: Worker): Promise<number> {
  const [message] = await once(worker, 'message');
  return message as number;
}

async function time(workers: Worker[]): Promise<number> {
  const answers = workers.map(answer);
  for (const worker of workers) worker.postMessage(0);
  return Math.max(...(await Promise.all(answers)));
}

/** The time of two concurrent threads relative to one thread: 1 for two cores, 2 for two threads of one core. */
export async function sharing(): Promise<number> {
  const workers = [new Worker(multiply, { eval: true }), new Worker(multiply, { eval: true })];
  await Promise.all(workers.map(answer));
  const alone: number[] = [];
  const both: number[] = [];
  for (let i = 0; i < 5; i++) {
    alone.push(await time(workers.slice(0, 1)));
    both.push(await time(workers));
  }
  for (const worker of workers) await worker.terminate();
  return Math.min(...both) / Math.min(...alone);
}
