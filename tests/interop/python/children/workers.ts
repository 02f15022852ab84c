/** Workers that use Python start and end, and their thread states end with them. */

import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { callAsync, python } from 'dlpack/python';

// One thread for the pool, because each of its threads has a state too, and a busy pool starts another thread.
const py = python({ threads: 1 });
py.exec(`
import ctypes
def states():
    api = ctypes.pythonapi
    api.PyInterpreterState_Get.restype = ctypes.c_void_p
    for function in (api.PyInterpreterState_ThreadHead, api.PyThreadState_Next):
        function.restype, function.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    count, state = 0, api.PyInterpreterState_ThreadHead(api.PyInterpreterState_Get())
    while state:
        count, state = count + 1, api.PyThreadState_Next(state)
    return count
`);
const { states } = py.import('__main__');
py.import('numpy');
await callAsync(states); // the pool has its thread from here on
const before = Number(states());
// One at a time: a worker that ends while another is inside an operation leaves its state behind.
for (const how of ['end', 'wait', 'end', 'wait', 'end', 'wait']) {
  const worker = new Worker(new URL('./worker.js', import.meta.url), { workerData: how });
  const exit = once(worker, 'exit');
  const [message] = await once(worker, 'message');
  if (String(message) !== '2,4,6') throw new Error(String(message));
  if (how === 'wait') await worker.terminate();
  await exit;
}
// Deno reports the end of a worker before its thread has ended.
let left = Number(states()) - before;
for (let i = 0; i < 2000 && left > 0; i++) {
  await new Promise((resolve) => setTimeout(resolve, 10));
  left = Number(states()) - before;
}
console.log(left <= 0 ? 'no thread states left' : `${left} thread states left`);
process.exit(0);
