/**
 * Workers that end while Python works for them. This thread loads the package only if the second argument names it: an
 * addon that only workers have loaded must stay in the process, too.
 */

import { fileURLToPath } from 'node:url';
import { isMainThread, Worker, workerData } from 'node:worker_threads';

const how = (isMainThread ? process.argv[2] : workerData) as string;

const definitions = `
import sys, threading, time, types
if not hasattr(sys, 'shared'):
  sys.shared = types.SimpleNamespace(kept=[], ended=threading.Event(), errors=[])
  def loop(f):
    try:
      while True: f()
    except RuntimeError as error:
      sys.shared.errors.append(str(error))
      sys.shared.ended.set()
  sys.shared.loop = loop
`;

async function work(): Promise<void> {
  const { fromDLPack, Tensor } = await import('dlpack');
  const { callAsync, python } = await import('dlpack/python');
  const py = python();
  py.exec(definitions);
  const { shared } = py.import('sys');
  const waits = (promise: Promise<unknown>) => promise.catch(() => {});
  if (how === 'objects') {
    const np = py.import('numpy');
    (globalThis as { kept?: unknown }).kept = Array.from({ length: 50 }, () => [
      np.arange(3),
      fromDLPack(np.arange(4)),
    ]);
    for (let i = 0; i < 50; i++) shared.kept.append(np.from_dlpack(Tensor.from([i])));
    shared.kept.append(() => 1);
  } else if (how === 'calls') {
    for (let i = 0; i < 200; i++) void waits(callAsync(py.import('time').sleep, 0.05));
  } else if (how === 'callback') {
    void waits(callAsync(shared.loop, () => 1));
  } else if (how === 'promise') {
    void waits(callAsync(shared.loop, () => new Promise(() => {})));
  } else if (how === 'thread') {
    py.import('threading')
      .Thread(py.kwargs({ target: shared.loop, args: py.tuple(() => 1), daemon: true }))
      .start();
  } else if (how === 'foreign') {
    shared.kept.append(() => 1);
  }
  // The main thread ends this worker in the middle of its work.
  await new Promise((resolve) => setTimeout(resolve, 50));
  const { parentPort } = await import('node:worker_threads');
  parentPort?.postMessage('ready');
  setInterval(() => {}, 1000);
}

function runWorker(terminate: boolean): Promise<void> {
  const worker = new Worker(fileURLToPath(import.meta.url), { workerData: how });
  return new Promise((resolve, reject) => {
    worker.once('error', reject);
    worker.once('message', () => resolve(terminate ? worker.terminate().then(() => {}) : undefined));
  });
}

async function check(): Promise<void> {
  const { callAsync, python } = await import('dlpack/python');
  const py = python();
  py.exec(definitions);
  const { shared } = py.import('sys');
  if (['callback', 'promise', 'thread'].includes(how)) {
    await callAsync(shared.ended.wait);
    console.log(
      [...shared.errors].every((text: string) => text.includes('environment')) ? 'refused' : `${shared.errors}`,
    );
  }
  for (const object of shared.kept) {
    if (!String(object).startsWith('<dlpack.Function')) continue;
    for (const call of [callAsync, async (fn: typeof object) => fn()]) {
      const refused = () => call(object).catch((error: Error) => error.message);
      let message = await refused();
      // Deno reports the end of a worker before its thread has ended.
      for (let i = 0; i < 6000 && !message.includes('its worker or program has ended'); i++) {
        await new Promise((resolve) => setTimeout(resolve, 10));
        message = await refused();
      }
      console.log(message.includes('its worker or program has ended') ? 'refused' : message);
    }
  }
  // Releases the objects that hold the worker's memory, on this thread and on another.
  await callAsync(shared.kept.clear);
  console.log(py.eval('1 + 1'));
}

if (!isMainThread) await work();
else if (how === 'foreign') {
  // A function of another running JavaScript thread can be called only from a Python thread.
  const { callAsync, python } = await import('dlpack/python');
  const py = python();
  py.exec(definitions);
  await runWorker(false);
  const [fn] = [...py.import('sys').shared.kept];
  try {
    fn();
  } catch (error) {
    console.log((error as Error).message.includes('another JavaScript thread') ? 'refused' : String(error));
  }
  console.log(await callAsync(fn));
  process.exit(0);
} else {
  if (process.argv[3] === 'before') (await import('dlpack/python')).python();
  await runWorker(true);
  await runWorker(true);
  await check();
}
