/**
 * Python calls a JavaScript function with objects and with bytes that JavaScript refuses, so the objects go back to Python.
 * Meanwhile workers end (`workers`), or the process ends: with calls in progress (`exit`), or inside such a call (`inside`).
 *
 * Each object stays in a list, so that its count shows a release too many as well as one too few. Prints `released once` when
 * the count of every object whose call ended is that of an object that was never passed.
 */

import { fileURLToPath } from 'node:url';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { callAsync, type PyObject, python } from 'dlpack/python';

interface Task {
  readonly how: string;
  /** 1 once the worker was told to end. Deno does not interrupt a loop, other runtimes do. */
  readonly hasEnded: Int32Array;
}
const { how, hasEnded } = (isMainThread ? { how: process.argv[2], hasEnded: null } : workerData) as Task;
const LENGTH = 2 ** 20; // JavaScript code makes arrays of this length and longer ones

let beforeRefusing = (): void => {};
// An engine that refuses large arrays.
globalThis.Uint8Array = new Proxy(Uint8Array, {
  construct(target, [length, ...rest]: [number]) {
    if (length < LENGTH) return new target(length, ...(rest as []));
    beforeRefusing();
    throw new RangeError(`Invalid typed array length: ${length}`);
  },
});

const py = python();
if (isMainThread) {
  py.exec(`
import atexit, sys, threading, time
class Argument: pass
ended = [Argument()]
large = b'x' * ${LENGTH}
begun, refused = [], []
def give(f):
    argument = Argument()
    begun.append(1)
    try: f(argument, large, argument, key=argument)
    except OverflowError: refused.append(1)
    finally: ended.append(argument)
def give_often(f, times):
    for _ in range(times): give(f)
def give_always(f):
    try:
        while True: give(f)
    except RuntimeError: pass  # the environment ends
def start(f):
    threading.Thread(target=give_always, args=(f,), daemon=True).start()
def is_over(): return len(begun) == len(ended) - 1 and len(refused) >= 4 * 40 + 2
def has_one_count(): return len({sys.getrefcount(argument) for argument in ended[:]}) == 1
def wait_until(*conditions):
    for _ in range(4000):
        if all(condition() for condition in conditions): return True
        time.sleep(0.005)
def report(*conditions):
    if wait_until(has_one_count, *conditions): print('released once', flush=True)
    else: print(len(begun), len(refused), [sys.getrefcount(argument) for argument in ended], flush=True)
`);
}
const main = py.import('__main__') as Record<string, PyObject>;
const never = () => console.log('the function was called');
const turn = () => new Promise((resolve) => setTimeout(resolve, 10));

/**
 * Ends in the middle of a refused call: of this thread, also by process.exit, of a thread of the pool, or while a Python thread
 * makes one call after the other.
 */
async function work(): Promise<void> {
  main.give_often(never, 20);
  await callAsync(main.give_often, never, 20);
  if (how === 'thread') {
    main.start(never);
    parentPort?.postMessage('ready');
    setInterval(() => {}, 1000);
    return;
  }
  beforeRefusing = () => {
    parentPort?.postMessage('ready');
    if (how === 'exit') process.exit(0);
    while (Atomics.load(hasEnded, 0) === 0);
  };
  if (how === 'there') await callAsync(main.give, never);
  else main.give(never);
}

async function endWorker(kind: string): Promise<void> {
  const task: Task = { how: kind, hasEnded: new Int32Array(new SharedArrayBuffer(4)) };
  const worker = new Worker(fileURLToPath(import.meta.url), { workerData: task });
  await new Promise((resolve, reject) => {
    worker.once('error', reject);
    worker.once('message', resolve);
  });
  await worker.terminate();
  Atomics.store(task.hasEnded, 0, 1);
}

if (!isMainThread) {
  await work();
} else if (how === 'workers') {
  for (const kind of ['here', 'exit', 'there', 'thread']) await endWorker(kind);
  await callAsync(main.report, main.is_over);
} else {
  py.exec('atexit.register(report)');
  main.give_often(never, 20);
  await callAsync(main.give_often, never, 20);
  for (let i = 0; i < 3; i++) main.start(never);
  while (py.eval('len(refused) < 60') as unknown) await turn();
  if (how === 'inside') beforeRefusing = () => process.exit(0);
  main.give_often(never, 20);
  process.exit(0);
}
