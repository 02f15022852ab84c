/** Signals and the end of the process, which Python code and libraries must not change; and objects for other processes. */

import { Tensor } from 'dlpack';
import { equal, ok } from '../../assert.js';
import { runChild } from '../../child.js';
import { testWith, unless } from '../../harness.js';
import { probe, py, pythonMissing, raises, value } from './available.js';

const numpy = probe('numpy');
const mlDTypes = probe('ml_dtypes');
const onWindows = process.platform === 'win32';
const noSignals = unless(!onWindows, 'Windows has no signals');
const noFork = unless(!onWindows, 'Windows does not fork');
const noProc = unless(process.platform === 'linux', 'only Linux has /proc and these libraries');

function child(...args: string[]): string {
  const { code, signal, output } = runChild(import.meta.url, './children/process.js', { args });
  return `${signal ?? code}: ${output.trim()}`;
}

testWith(pythonMissing, 'a WebAssembly trap throws, whatever faulthandler does', () => {
  equal(child('trap', 'enable'), '0: memory access out of bounds');
  const { code, output } = runChild(import.meta.url, './children/process.js', {
    args: ['trap'],
    env: { PYTHONFAULTHANDLER: '1' },
  });
  equal([code, output.trim()], [0, 'memory access out of bounds']);
});

testWith(pythonMissing, 'SIGTERM reaches JavaScript, before and after Python code takes it', () => {
  for (const way of ['signal.signal', 'sigaction', 'both', 'default', 'async', 'before'])
    equal(child('term', way), '7: JavaScript', way);
});

testWith(pythonMissing, 'Python keeps its handlers if the option says so', () => {
  ok(child('term', 'python').startsWith('9: Python'), child('term', 'python'));
});

testWith(noSignals || pythonMissing, 'faulthandler says where Python crashed if Python keeps its handlers', () => {
  const shown = child('crash', 'python');
  ok(shown.includes('Fatal Python error: Segmentation fault') && shown.includes('in read_nothing'), shown);
});

testWith(
  pythonMissing,
  'signal.signal works on the thread that started Python, and raises ValueError elsewhere',
  () => {
    const refused = 'ValueError: signal only works in main thread';
    const shown = (first: string): string => {
      const { code, signal, output } = runChild(import.meta.url, './children/signal-threads.js', { args: [first] });
      return `${signal ?? code}: ${output.trim().replaceAll(' of the main interpreter', '')}`; // since Python 3.10
    };
    equal(shown('main'), `7: main: no error\nworker: ${refused}\npool: ${refused}\nJavaScript`);
    equal(shown('worker'), `7: worker: no error\nmain: ${refused}\npool: ${refused}\nJavaScript`);
  },
);

testWith(
  noSignals || pythonMissing,
  'a signal that the JavaScript thread blocks stays blocked while a thread of the pool starts',
  () => {
    const { code, signal, output } = runChild(import.meta.url, './children/pending-signal.js');
    equal([code, signal, output], [0, null, 'true true true 2\n']);
  },
);

testWith(noProc || pythonMissing, 'processes that Python starts on another thread do not block signals', async () => {
  const blocked = py.eval(
    'lambda: __import__("subprocess").check_output(["grep", "SigBlk", "/proc/self/status"], text=True)',
  );
  equal(await py.callAsync(blocked), value(blocked()));
});

for (const name of ['numpy', 'scipy', 'torch']) {
  testWith(noFork || probe(name).missing, `processes start while ${name} computes, and it goes on`, () => {
    const { code, signal, output } = runChild(import.meta.url, './children/start-processes.js', { args: [name] });
    const ended = ['a worker', 'the main thread'].map((thread) => `${thread} and ${name} went on\n`);
    equal([code, signal, output], [0, null, ended.join('')]);
  });
}

testWith(noProc || numpy.missing, 'OpenBLAS has one thread, unless the program says how many', () => {
  const threads = (variable?: string, way = ''): string =>
    runChild(import.meta.url, './children/process.js', {
      args: ['blas', way],
      env: variable === undefined ? {} : { OPENBLAS_NUM_THREADS: variable },
    }).output.trim();
  equal([threads(), threads('2')], ['1', '2']);
  equal(threads(undefined, 'chosen'), '2', 'after the load of another module');
});

testWith(pythonMissing, 'exit functions run once when the process ends in order', () => {
  equal(child('exit', 'end'), '0: exit function\nexit event');
  equal(child('exit', 'call'), '3: exit function\nexit event');
  equal(child('exit', 'idle'), '0: exit function\nexit event');
});

testWith(pythonMissing, 'executors that a program forgot finish their work before the exit functions', () => {
  equal(child('exit', 'executors'), '0: 5\nfinished\nexit function\nexit event');
});

testWith(
  pythonMissing,
  'an executor whose thread calls JavaScript at the end of the process does not wait for it',
  () => {
    equal(child('exit', 'callbacks'), '0: refused\nJavaScript\nexit function\nexit event');
  },
);

testWith(pythonMissing, 'a function that emits the exit event, while other threads wait for functions', () => {
  equal(child('exit', 'emitted'), '0: refused\nexit function\nalive');
});

testWith(pythonMissing, 'an exit function that never returns does not keep the process running', () => {
  equal(
    child('exit', 'stuck'),
    "4: dlpack: Python's exit functions took longer than 500 ms; the process ends without them",
  );
});

testWith(numpy.missing, 'tensors are pickled as NumPy arrays, out of band with protocol 5', () => {
  const x = Tensor.from(
    [
      [1, 2, 3],
      [4, 5, 6],
    ],
    { dtype: 'float32' },
  );
  const pickled = py.eval('lambda x, p: __import__("pickle").loads(__import__("pickle").dumps(x, p))');
  for (const protocol of [2, 3, 4, 5]) {
    for (const t of [x, x.transpose(), x.slice(null, [0, 3, 2])]) {
      equal(
        String(pickled(t, protocol).tolist()),
        JSON.stringify(t.toArray())
          .replace(/(\d)([,\]])/g, '$1.0$2')
          .replace(/,/g, ', '),
      );
    }
  }
  py.exec(`
def out_of_band(x):
    import pickle, numpy
    buffers = []
    data = pickle.dumps(x, 5, buffer_callback=buffers.append)
    array = pickle.loads(data, buffers=buffers)
    return len(data) < 300, len(buffers), numpy.shares_memory(array, numpy.asarray(x))
`);
  equal([...py.eval('out_of_band')(x)], [true, 1, true]);
  equal(String(py.eval('lambda x: __import__("copy").deepcopy(x).tolist()')(x.slice(0))), '[1.0, 2.0, 3.0]');
  raises('TypeError', 'cannot pickle', () => pickled(Tensor.from([1, 0], { dtype: 'uint1' }), 5));
});

testWith(numpy.missing || mlDTypes.missing, 'bfloat16 tensors are pickled with ml_dtypes', () => {
  const x = Tensor.from([1.5, -2], { dtype: 'bfloat16' });
  const loaded = py.eval(
    'lambda x: (lambda a: [str(a.dtype), a.astype("f4").tolist()])(__import__("pickle").loads(__import__("pickle").dumps(x, 5)))',
  )(x);
  equal(String(loaded), "['bfloat16', [1.5, -2.0]]");
});

testWith(pythonMissing, 'a value that a JavaScript function threw is pickled as text', () => {
  const text = py.eval(`lambda f: (lambda e: repr(__import__('pickle').loads(__import__('pickle').dumps(e))))(
    (lambda g: (yield_ for yield_ in [g(f)]).__next__())(lambda f: caught(f)))`);
  py.exec(`
def caught(f):
    try:
        f()
    except Exception as error:
        return error
`);
  equal(
    value(
      text(() => {
        throw new TypeError('of JavaScript');
      }),
    ),
    "RuntimeError('JavaScriptError: TypeError: of JavaScript')",
  );
  raises('TypeError|PicklingError', 'pickle', () => py.import('pickle').dumps(py.callable(() => 1)));
});
