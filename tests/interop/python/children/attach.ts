/** Workers attach to the Python of the main thread, although they could not find it themselves. Prints what each saw. */

import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { type PythonOptions, python } from 'dlpack/python';

const shown = (options: PythonOptions): string => {
  try {
    return String(python(options).eval('__import__("sys").executable'));
  } catch (error) {
    return (error as Error).message;
  }
};

if (isMainThread) {
  const options: PythonOptions = JSON.parse(process.argv[2] as string);
  const own = shown(options);
  process.env.VIRTUAL_ENV = '/nowhere';
  process.env.PATH = '/nowhere';
  for (const asked of [{}, options, { venv: '/another' }]) {
    const worker = new Worker(fileURLToPath(import.meta.url), { workerData: asked });
    const [answer] = await once(worker, 'message');
    console.log(answer === own ? 'the same' : answer);
    await worker.terminate();
  }
} else {
  parentPort?.postMessage(shown(workerData));
}
