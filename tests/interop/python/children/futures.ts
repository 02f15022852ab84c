/**
 * Python futures at the end of a process or a worker. `end`: only a future keeps the process alive. `exit`: the process exits
 * with futures pending. `aborted`: no future is waited for. `worker`: a worker ends with futures pending, which finish later.
 */

import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { callAsync, type PyObject, python } from 'dlpack/python';

const [how] = process.argv.slice(2);
const py = python();
const space = py.eval('{}');
py.import('builtins').exec(
  `
import asyncio, concurrent.futures, threading
future = concurrent.futures.Future()
async def wait(): await asyncio.Event().wait()
async def soon():
  await asyncio.sleep(0.1)
  return 'done'
`,
  space,
);
// A worker may end between the making of a coroutine and the waiting for it.
py.import('warnings').filterwarnings('ignore', 'coroutine .* was never awaited');
const [wait, soon] = ['wait', 'soon'].map((name) => py.getItem(space, name)) as [PyObject, PyObject];
const future = py.getItem(space, 'future');
const say = (value: unknown) => console.log(String(value));

if (how === 'end') {
  py.async(soon()).then(say);
} else if (how === 'aborted') {
  const controller = new AbortController();
  for (const pending of [wait(), future]) py.async(pending, { signal: controller.signal }).catch(() => say('stopped'));
  setTimeout(() => controller.abort(), 20);
} else if (how === 'exit') {
  for (const pending of [wait(), wait(), future]) py.async(pending).catch(say);
  await py.async(soon());
  say('leaving');
  process.exit(0);
} else if (isMainThread) {
  py.import('builtins').future = future;
  const worker = new Worker(new URL(import.meta.url), { argv: ['worker'] });
  await new Promise((resolve) => worker.once('message', resolve));
  await worker.terminate();
  future.set_result(5);
  say(await py.async(soon()));
  say(await callAsync(py.eval('lambda: 1')));
} else {
  const shared = py.import('builtins').future;
  for (const pending of [wait(), wait(), shared]) py.async(pending).catch(say);
  setInterval(() => py.async(wait()), 1);
  parentPort?.postMessage('pending');
}
