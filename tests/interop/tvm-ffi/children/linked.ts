/** Releases linked containers and errors, on the main thread and on a worker. Prints what was released. */

import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { Dict, List, loadLibrary, TVMFFIError, toFunction } from 'dlpack/tvm-ffi';
import { libraries } from '../peer.js';

/** Lengths at which a release that follows the links overflows the stack of the thread. */
const LENGTH = isMainThread ? 200_000 : 100_000;

/** What is linked, and a function that releases it. JavaScript keeps no reference to anything inside. */
const chains: Record<string, () => () => void> = {
  'lists by their constructors': () => {
    let last = new List<unknown>([]);
    for (let i = 0; i < LENGTH; i++) last = new List<unknown>([last]);
    const head = new List<unknown>([last]);
    return () => head.clear();
  },
  'lists by push': () => {
    const head = new List<unknown>([]);
    let last = head;
    for (let i = 0; i < LENGTH; i++) {
      const next = new List<unknown>([]);
      last.push(next);
      last = next;
    }
    return () => head.clear();
  },
  'dicts by set': () => {
    const head = new Dict<string, unknown>();
    let last = head;
    for (let i = 0; i < LENGTH; i++) {
      const next = new Dict<string, unknown>();
      last.set('next', next);
      last = next;
    }
    return () => head.clear();
  },
  'maps and arrays around lists': () => {
    let last = new List<unknown>([]);
    for (let i = 0; i < LENGTH; i++) last = new List<unknown>([{ next: [last] }]);
    const head = new List<unknown>([last]);
    return () => head.clear();
  },
  'errors by their causes': () => {
    let last = new TVMFFIError('ValueError', 'first');
    const throwing = toFunction((cause: Error) => {
      throw new TVMFFIError('ValueError', 'next', { cause });
    });
    for (let i = 0; i < 2000; i++) {
      try {
        throwing(last);
      } catch (error) {
        last = error as TVMFFIError;
      }
    }
    const head = new List<unknown>([last]);
    return () => head.clear();
  },
};

async function run(): Promise<string[]> {
  loadLibrary({ path: `${libraries}/libtvm_ffi.so` });
  const released: string[] = [];
  for (const [name, make] of Object.entries(chains)) {
    const release = make();
    for (let i = 0; i < 3; i++) {
      (globalThis as { gc?: () => void }).gc?.();
      await new Promise((done) => setTimeout(done, 10));
    }
    release();
    released.push(name);
  }
  return released;
}

if (!isMainThread) parentPort?.postMessage(await run());
else if (process.argv[2] === 'main') console.log(`RESULT ${JSON.stringify(await run())}`);
else {
  const worker = new Worker(new URL(import.meta.url));
  worker.on('message', (released) => console.log(`RESULT ${JSON.stringify(released)}`));
}
