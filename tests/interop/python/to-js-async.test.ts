/** Results that become JavaScript values on the thread of the pool. */

import { isDLPackError, Tensor } from 'dlpack';
import { liveCounts } from 'dlpack/debug';
import { kwargs, type PyObject, PythonError } from 'dlpack/python';
import { equal, ok, rejection } from '../../assert.js';
import { testWith } from '../../harness.js';
import { define, probe, py, pythonMissing, settleUntil } from './available.js';

const numpy = probe('numpy');

testWith(pythonMissing, 'values are those of py.toJS', async () => {
  const expressions = [
    'None',
    '5',
    '2 ** 70',
    '"text"',
    'b"ab"',
    '[]',
    '[1, [2.5, (None, True)], "x"]',
    '{"label": "cat", "score": 0.5, "box": (1, 2)}',
    '{1: "a", (2, 3): [4]}',
    '{1, 2}',
    '[{"a": i, "b": [i] * 3} for i in range(500)]',
  ];
  for (const expression of expressions) {
    const make = py.eval(`lambda: ${expression}`);
    equal(await py.callToJSAsync(make), py.toJS(make()), expression);
  }
  const f = py.eval('lambda *a, **k: [*a, k]');
  equal(await py.callToJSAsync(f, 1, 'x', kwargs({ y: [2] })), [1, 'x', { y: [2] }]);
});

testWith(
  numpy.missing,
  'tensors in tuples, lists and dicts share the memory, and no Python object is left over',
  async () => {
    const [kept, make] = define(
      'import numpy\nkept = numpy.zeros(3)\nmake = lambda: {"pair": (kept, numpy.arange(2)), "n": numpy.float32(1.5)}',
      'kept',
      'make',
    );
    await py.callToJSAsync(make);
    const { objects } = liveCounts();
    const result = (await py.callToJSAsync(make)) as { pair: [Tensor, Tensor]; n: number };
    ok(liveCounts().objects <= objects); // fewer when the collector ran meanwhile
    equal(result.n, 1.5);
    const [first, second] = result.pair;
    ok(first instanceof Tensor && second instanceof Tensor);
    kept.fill(7);
    equal(first.toArray(), [7, 7, 7]);
    equal(second.toArray(), [0n, 1n]);
    first.dispose();
    second.dispose();
  },
);

testWith(pythonMissing, 'other Python objects stay what they are; errors reject the promise', async () => {
  const [value, module] = (await py.callToJSAsync(py.eval('lambda: [1, __import__("sys")]'))) as [
    number,
    { path: unknown },
  ];
  equal(value, 1);
  ok(module.path !== undefined);
  const raised = await rejection(py.callToJSAsync(py.eval('lambda: 1 / 0')));
  ok(raised instanceof PythonError && raised.type === 'ZeroDivisionError', String(raised));
  const [cycle] = define('def cycle():\n  a = []\n  a.append(a)\n  return a', 'cycle');
  const refused = await rejection(py.callToJSAsync(cycle));
  ok(isDLPackError(refused, 'ValueError') && /contain itself/.test(refused.message), String(refused));
  ok(isDLPackError(await rejection(py.callToJSAsync('no' as PyObject)), 'TypeError'));
});

testWith(numpy.missing, 'one tensor that cannot be imported: the others are released', async () => {
  const [make] = define(
    'import numpy\nclass Bad:\n  def __dlpack__(self, **k): raise BufferError("bad")\n  def __dlpack_device__(self): return 1, 0\nmake = lambda: [numpy.zeros(3), Bad()]',
    'make',
  );
  const { imports } = liveCounts();
  const error = await rejection(py.callToJSAsync(make));
  ok(error instanceof PythonError && error.type === 'BufferError', String(error));
  equal(liveCounts().imports, imports);
});

const things = `
import weakref
class Thing: pass
live = weakref.WeakSet()
def thing():
  one = Thing()
  live.add(one)
  return one
count = lambda: len(live)
`;

testWith(
  numpy.missing,
  'a tensor that JavaScript refuses: the Python objects before and after it are released',
  async () => {
    const [make, count] = define(
      `${things}
import numpy
class Misaligned:
  def __dlpack__(self, **k): return numpy.frombuffer(bytearray(33), 'u1')[1:].view('f8').__dlpack__()
  def __dlpack_device__(self): return 1, 0
make = lambda: [thing(), Misaligned(), thing()]`,
      'make',
      'count',
    );
    const refused = await rejection(py.callToJSAsync(make));
    ok(isDLPackError(refused, 'BufferError') && /aligned/.test(refused.message), String(refused));
    ok(await settleUntil(() => count() === 0));
  },
);

testWith(
  pythonMissing,
  'a part that is too long for JavaScript: the Python objects before it are released',
  async () => {
    const [make, count] = define(`${things}make = lambda: [thing(), "x" * 2 ** 29, thing()]`, 'make', 'count');
    await py.callToJSAsync(make).catch((error: unknown) => {
      ok(error instanceof PythonError && error.type === 'OverflowError', String(error)); // other engines have longer strings
    });
    ok(await settleUntil(() => count() === 0));
  },
);

testWith(numpy.missing, 'the parts of an abandoned call are released without the garbage collector', async () => {
  const [make, release, isStarted, isDropped] = define(
    `${things}
import numpy, threading
started, event = threading.Event(), threading.Event()
release, is_started = event.set, started.is_set
made = []
def make():
  started.set()
  event.wait()
  one = thing()
  made.append(weakref.ref(one))
  return [one, numpy.zeros(3)]
is_dropped = lambda: len(made) == 1 and made[0]() is None`,
    'make',
    'release',
    'is_started',
    'is_dropped',
  ) as [PyObject, PyObject, () => boolean, () => boolean];
  const until = async (done: () => boolean) => {
    const start = Date.now();
    while (!done() && Date.now() - start < 30_000) await new Promise((resolve) => setTimeout(resolve, 1));
    return done();
  };
  const { imports } = liveCounts();
  const control = new AbortController();
  const call = rejection(py.callToJSAsync.with({ signal: control.signal })(make));
  ok(await until(isStarted));
  control.abort();
  await call;
  release();
  ok(await until(isDropped));
  ok(await until(() => liveCounts().imports === imports));
});
