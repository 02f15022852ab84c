/**
 * Ends the process while Python works: `exit` calls process.exit, and with `end` JavaScript has nothing left to do. The second
 * argument names the running work.
 */

import { callAsync, type PyObject, python } from 'dlpack/python';

const [how, what] = process.argv.slice(2) as ['exit' | 'end', string];
const py = python();
py.exec(`
import threading, time
begun = threading.Event()
def sleep():
  begun.set()
  time.sleep(3600)
def spin():
  begun.set()
  while True: pass
def numpy():
  import numpy
  a = numpy.random.rand(256, 256)
  while True:
    begun.set()
    numpy.linalg.svd(a)
def torch():
  import torch
  a = torch.rand(256, 256)
  while True:
    begun.set()
    torch.linalg.svd(a)
def promise(f):
  begun.set()
  f()
def calls(f):
  begun.set()
  while True:
    try: f()
    except RuntimeError: time.sleep(0.001)
def thread(f):
  threading.Thread(target=calls, args=(f,), daemon=True).start()
`);
const main = py.import('__main__') as Record<string, PyObject>;
const work: Record<string, (signal: AbortSignal) => unknown> = {
  promise: (signal) => callAsync.with({ signal })(main.promise, () => new Promise(() => {})),
  calls: (signal) => callAsync.with({ signal })(main.calls, () => 1),
  thread: () => main.thread(() => 1),
};
const controller = new AbortController();
for (let i = 0; i < 6; i++) {
  const pending = work[what]?.(controller.signal) ?? callAsync.with({ signal: controller.signal })(main[what]);
  if (pending instanceof Promise) pending.catch(() => {});
}
const turn = () => new Promise((resolve) => setTimeout(resolve, 20));
while ((main.begun as PyObject).is_set() !== true) await turn();
await turn();
console.log('leaving');
if (how === 'exit') process.exit(0);
controller.abort();
