/** `signal.signal` on each thread of a process. The argument names the thread that starts Python: `main` or `worker`. */

import { once } from 'node:events';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { callAsync, type PyObject, python } from 'dlpack/python';

/** What happens when Python code installs a handler. */
async function install(call: (take: PyObject) => unknown): Promise<string> {
  const py = python();
  py.exec('import signal\ndef take():\n    signal.signal(signal.SIGTERM, lambda *a: None)');
  try {
    await call(py.eval('take'));
    return 'no error';
  } catch (error) {
    return (error as Error).message;
  }
}

const here = () => install((take) => take());

if (!isMainThread) parentPort?.postMessage(await here());
else {
  const isFirst = process.argv[2] === 'main';
  if (isFirst) console.log(`main: ${await here()}`);
  const worker = new Worker(new URL(import.meta.url));
  const [message] = await once(worker, 'message');
  console.log(`worker: ${message}`);
  await worker.terminate();
  if (!isFirst) console.log(`main: ${await here()}`);
  console.log(`pool: ${await install((take) => callAsync(take))}`);
  process.on('SIGTERM', () => {
    console.log('JavaScript');
    process.exit(7);
  });
  setTimeout(() => process.exit(5), 120_000);
  process.kill(process.pid, 'SIGTERM');
}
