/** A worker that disposes half of its objects and functions, and ends with the others. */

import { workerData } from 'node:worker_threads';
import { type FFIFunction, getGlobalFunc, List, loadModule, toFunction } from 'dlpack/tvm-ffi';

const { testingPath, probePath } = workerData as { testingPath: string; probePath: string };
loadModule(testingPath);
const kept: unknown[] = [];
for (let i = 0; i < 100; i++) {
  const list = new List([i]);
  const callback = toFunction(() => list);
  const repeat = loadModule(probePath).repeat as FFIFunction;
  const same = getGlobalFunc('testing.apply')(callback);
  if (same !== list || repeat('a', 2) !== 'aa') throw new Error('another value');
  if (i % 2 === 0) for (const one of [list, callback, repeat]) one.dispose();
  kept.push(list, callback, repeat);
}
