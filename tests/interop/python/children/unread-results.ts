/**
 * Arrays that asynchronous calls returned and nobody has imported, so that each handle has a second reference: when their worker
 * ends, and when the process ends. Prints how many are alive before and after the worker's end.
 */

import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { callAsync, type PyObject, python } from 'dlpack/python';

const COUNT = 50;
const py = python();

const hold = (): Promise<PyObject[]> =>
  Promise.all(Array.from({ length: COUNT }, () => callAsync(py.import('unread_results').make)));

if (isMainThread) {
  py.import('builtins').exec(
    `
import numpy, sys, types, weakref
module = types.ModuleType('unread_results')
module.live = weakref.WeakSet()
class Array(numpy.ndarray):
  __hash__ = object.__hash__
def make():
  array = numpy.ones(3).view(Array)
  module.live.add(array)
  return array
module.make, module.count = make, lambda: len(module.live)
sys.modules['unread_results'] = module
`,
    py.eval('{}'),
  );
  const { count } = py.import('unread_results');
  const worker = new Worker(new URL(import.meta.url));
  await new Promise((resolve) => worker.once('message', resolve));
  const before = count() as number;
  await worker.terminate();
  // The objects of a worker that has ended are dropped by another thread.
  while ((count() as number) > 0) await callAsync(py.import('time').sleep, 0.01);
  const after = count() as number;
  const kept = await hold();
  console.log(before, after, kept.length);
} else {
  const kept = await hold();
  parentPort?.postMessage('ready');
  setInterval(() => kept.length, 1000); // until it is terminated
}
