/** Signals, threads and the end of the process with Python in it. The arguments name the case. */

import { callAsync, python } from 'dlpack/python';
import { trap } from '../../../trap.js';

const [what, way] = process.argv.slice(2) as [string, string];
const py = python(way === 'python' ? { signals: 'python' } : way === 'stuck' ? { exitTimeout: 500 } : {});

/** `sigaction` from C, as a C++ library calls it. */
const takers: Record<string, string> = {
  'signal.signal': 'import signal\nsignal.signal(signal.SIGTERM, lambda *a: None)',
  default: 'import signal\nsignal.signal(signal.SIGTERM, signal.SIG_DFL)',
  sigaction:
    'import ctypes\nkept = ctypes.CFUNCTYPE(None, ctypes.c_int)(lambda n: None)\nctypes.CDLL(None).signal(15, ctypes.pythonapi.Py_IsInitialized)',
  both: 'import ctypes, signal\nctypes.CDLL(None).signal(15, ctypes.pythonapi.Py_IsInitialized)\nsignal.signal(signal.SIGINT, signal.SIG_DFL)',
  async: 'import ctypes\ndef take():\n    ctypes.CDLL(None).signal(15, ctypes.pythonapi.Py_IsInitialized)',
  python: 'import signal, os\nsignal.signal(signal.SIGTERM, lambda *a: (print("Python", flush=True), os._exit(9)))',
};

const listen = (): void =>
  void process.on('SIGTERM', () => {
    console.log('JavaScript');
    process.exit(7);
  });

if (what === 'trap') {
  if (way === 'enable') py.import('faulthandler').enable();
  const caught = trap();
  const isOutOfBounds = caught instanceof Error && caught.message.toLowerCase().includes('out of bounds');
  console.log(isOutOfBounds ? 'memory access out of bounds' : String(caught));
} else if (what === 'crash') {
  py.import('faulthandler').enable();
  py.exec('def read_nothing():\n    __import__("ctypes").string_at(0)');
  py.eval('read_nothing')();
} else if (what === 'term') {
  if (way !== 'before') listen();
  py.exec(takers[way === 'before' ? 'signal.signal' : way] as string);
  if (way === 'async') await callAsync(py.eval('take'));
  if (way === 'before') listen();
  await Promise.resolve();
  setTimeout(() => {
    process.kill(process.pid, 'SIGTERM');
    // Python's handler runs when Python does.
    setInterval(() => py.eval('1'), 20);
    setTimeout(() => process.exit(5), 120_000);
  }, 50);
} else if (what === 'blas') {
  py.exec(`
import ctypes, numpy
library = ctypes.CDLL((numpy._core if hasattr(numpy, '_core') else numpy.core)._multiarray_umath.__file__)
names = [prefix + 'openblas_get_num_threads' + suffix for prefix in ('', 'scipy_') for suffix in ('', '64_')]
if ${way === 'chosen' ? 'True' : 'False'}:
    for name in names:
        if hasattr(library, name): getattr(library, name.replace('get', 'set'))(2)
    import numpy.linalg.lapack_lite
print(*[getattr(library, name)() for name in names if hasattr(library, name)], flush=True)
`);
} else {
  py.exec('import atexit, time, sys\natexit.register(lambda: print("exit function", flush=True))');
  if (way === 'stuck') py.exec('atexit.register(lambda: time.sleep(1000))');
  if (way === 'executors') {
    py.exec(`
import concurrent.futures
processes = concurrent.futures.ProcessPoolExecutor(1)
print(processes.submit(abs, -5).result(), flush=True)
threads = concurrent.futures.ThreadPoolExecutor(1)
threads.submit(time.sleep, 0.05)
threads.submit(print, 'finished', flush=True)
`);
  }
  if (way === 'callbacks') {
    // The executor waits for its thread, which waits for JavaScript. Exit functions still call JavaScript on its thread.
    py.exec(`
import concurrent.futures
threads = concurrent.futures.ThreadPoolExecutor(1)
def call(f):
    try: f()
    except RuntimeError as error: print('refused', flush=True)
`);
    py.import('atexit').register(() => console.log('JavaScript'));
    const { call, threads } = py.import('__main__');
    threads.submit(call, () => console.log('not reached'));
    // A call that has finished but is not settled, and a call that an exit listener abandons.
    const aborting = new AbortController();
    for (const seconds of [0, 100])
      callAsync
        .with({ signal: aborting.signal })(py.eval(`lambda: time.sleep(${seconds})`))
        .catch(() => {});
    py.eval('time.sleep(0.1)');
    process.on('exit', () => aborting.abort());
  }
  if (way === 'emitted') {
    // All threads wait for JavaScript when the first function runs. Its event refuses them, and their requests end.
    py.exec(`
import threading
outcomes = []
arrived = threading.Semaphore(0)
def call(f):
    arrived.release()
    try: outcomes.append(f())
    except RuntimeError: outcomes.append('refused')
def start(f):
    for _ in range(8): threading.Thread(target=call, args=(f,)).start()
    for _ in range(8): arrived.acquire()
    time.sleep(0.2)
@atexit.register
def wait():
    while len(outcomes) < 8: time.sleep(0.01)
    print(*set(outcomes), flush=True)
`);
    setInterval(() => {}, 1000); // calls of functions do not keep the process running
    const ran = new Promise<void>((resolve) => {
      py.import('__main__').start(() => {
        process.emit('exit', 0);
        resolve();
      });
    });
    await ran;
    await new Promise((resolve) => setTimeout(resolve, 10)); // the event loop turns on
    console.log('alive');
    process.exit(0);
  }
  if (way === 'stuck') process.exitCode = 4;
  else process.on('exit', () => console.log('exit event'));
  if (way === 'call') process.exit(3);
  if (way === 'callbacks') process.exit(0); // before the event loop can answer the thread
  if (way === 'idle') await callAsync(py.eval('lambda: 1'));
}
