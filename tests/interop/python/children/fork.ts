/**
 * Processes that Python forks: Python code continues there, with its memory. JavaScript does not exist there, and calls to it
 * give an error.
 */

import { fromDLPack, Tensor } from 'dlpack';
import { callAsync, python } from 'dlpack/python';

const py = python();
py.exec(`
import os, threading
import numpy as np

def status(action):
  read, write = os.pipe()
  pid = os.fork()
  if pid == 0:
    os.close(read)
    try: said = str(action())
    except BaseException as error: said = '%s: %s' % (type(error).__name__, error)
    os.write(write, said.encode())
    os._exit(3)
  os.close(write)
  with os.fdopen(read, 'rb') as pipe: said = pipe.read().decode()
  return '%d %s' % (os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), said)

def sums(tensor): return lambda: [float(np.from_dlpack(tensor, copy=copy).sum()) for copy in (None, True, True)]

def on_thread(function):
  said = []
  def run():
    try: said.append(function())
    except RuntimeError as error: said.append(error)
  thread = threading.Thread(target=run)
  thread.start(); thread.join()
  return said[0]

def take(holder): return lambda: holder.pop().shape

def drop_all(tensors, memory):
  def drop():
    tensors.clear()
    return sum(weak() is None for weak in memory)
  return drop

def fork_silently():
  pid = os.fork()
  if pid == 0: os.close(2)
  return pid

def waited(pid): return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
`);
const main = py.import('__main__');
const { status, sums, on_thread: onThread, take, waited } = main;

// Large enough for several threads, which already ran here.
const x = Tensor.zeros([1 << 22], 'float32').fill(0.5);
x.copy().dispose();
console.log('memory', status(sums(x)));
const adopted = Tensor.adopt(new Float32Array(8).fill(2));
const holder = py.eval('[]');
holder.append(adopted);
adopted.dispose();
console.log('adopted', status(take(holder)), holder.__len__());

// The forked process drops tensors over NumPy memory, while references of the parent wait for a thread of the pool.
const np = py.import('numpy');
const tensors = py.eval('[]');
const memory = py.eval('[]');
const { ref } = py.import('weakref');
for (let i = 0; i < 20; i++) {
  const array = np.zeros(8);
  memory.append(ref(array));
  const tensor = fromDLPack(array);
  tensors.append(tensor);
  tensor.dispose();
  array[Symbol.dispose]();
}
const waiting = py.eval('[type("Counted", (set,), {})() for _ in range(100)]');
const counted = [...waiting];
const live = py.eval('lambda all: sum(weak() is not None for weak in all)');
const weak = py.eval('lambda all: [__import__("weakref").ref(x) for x in all]')(waiting);
waiting.clear();
const asleep = callAsync(py.import('time').sleep, 0.2);
for (const object of counted) (object as Disposable)[Symbol.dispose]();
await null; // the references wait for the pool, which this thread does not wait for
console.log('releases', status(main.drop_all(tensors, memory)), live(memory));
await asleep;
for (let i = 0; i < 10_000 && (live(weak) as unknown as number) > 0; i++)
  await callAsync(py.import('time').sleep, 0.002);
console.log('released here', live(weak), live(memory));
tensors.clear();
console.log('released at last', live(memory));
console.log(
  'function',
  status(() => 1),
);
console.log('function on a thread', status(py.eval('lambda thread, f: lambda: thread(f)')(onThread, () => 1)));
console.log('in this process', await callAsync(onThread, () => 5));

// Each of these returns twice: here, and in a forked process that ends at once.
console.log('returns', waited(main.os.fork()));
console.log('returns without an error output', waited(main.fork_silently()));
console.log('returns on a thread of the pool', waited(await callAsync(main.os.fork)));
