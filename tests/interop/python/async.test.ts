import { AsyncLocalStorage } from 'node:async_hooks';
import { fromDLPack, Tensor } from 'dlpack';
import { liveCounts } from 'dlpack/debug';
import { callAsync, isPyObject, kwargs, type PyObject, PythonError } from 'dlpack/python';
import { equal, ok, rejection } from '../../assert.js';
import { runChild } from '../../child.js';
import { collect, testWith } from '../../harness.js';
import { define, probe, py, pythonMissing, settleUntil } from './available.js';

const numpy = probe('numpy');

/** Lets the event loop run. */
const turn = () => new Promise((resolve) => setTimeout(resolve, 1));

testWith(pythonMissing, 'results equal those of synchronous calls', async () => {
  const expressions = [
    'None',
    'True',
    'False',
    '5',
    '-(2 ** 53) + 1',
    '2 ** 53',
    '-(2 ** 70)',
    '1.5',
    'float("inf")',
    '""',
    '"text \\U0001f389"',
    '"\\ud800"',
    'b""',
    'b"\\x00\\xff"',
  ];
  for (const expression of expressions) {
    const make = py.eval(`lambda: ${expression}`);
    equal(await callAsync(make), make(), expression);
  }
  for (const expression of ['[1]', '(1,)', '{}', 'print', 'type("Number", (int,), {})(5)']) {
    const made: unknown = await callAsync(py.eval(`lambda: ${expression}`));
    ok(isPyObject(made), expression);
  }
  const f = py.eval('lambda *a, **k: repr((a, k))');
  equal(
    await callAsync(f, 1, 'x', [2], kwargs({ y: null, z: { w: 1 } })),
    f(1, 'x', [2], kwargs({ y: null, z: { w: 1 } })),
  );
  equal(await py.callAsync(f), '((), {})');
});

testWith(pythonMissing, 'the event loop runs while Python computes, with and without the GIL', async () => {
  const event = py.import('threading').Event();
  const waits = callAsync(event.wait);
  const [spin, begun, flag] = define(
    'begun = []\nflag = []\ndef spin():\n  begun.append(1)\n  while not flag: pass\n  return "spun"',
    'spin',
    'begun',
    'flag',
  );
  const spins = callAsync(spin);
  // Synchronous calls work meanwhile.
  while (begun.__len__() === 0) await turn();
  for (let i = 0; i < 5; i++) await turn();
  flag.append(1);
  event.set();
  equal([await waits, await spins], [true, 'spun']);
});

testWith(pythonMissing, 'many calls are pending, several run at once, on a bounded number of threads', async () => {
  const [identify] = define('import threading\ndef identify(i):\n  return (i, threading.get_ident())', 'identify');
  const all = await Promise.all(Array.from({ length: 2000 }, (_, i) => callAsync(identify, i)));
  const threads = new Set<number>();
  for (const [i, pair] of all.entries()) {
    const [index, thread] = [...pair] as [number, number];
    equal(index, i);
    threads.add(thread);
    pair[Symbol.dispose]();
  }
  ok(threads.size <= 16 && !threads.has(py.import('threading').get_ident()), `${threads.size} threads`);
  const barrier = py.import('threading').Barrier(4);
  await Promise.all(Array.from({ length: 4 }, () => callAsync(barrier.wait)));
});

testWith(pythonMissing, 'exceptions reject with type, message, traceback and the exception', async () => {
  const [fail] = define('class Odd(ValueError): pass\ndef fail(x):\n  raise Odd("no %s" % x)', 'fail');
  const error = await rejection(callAsync(fail, 'way'));
  ok(error instanceof PythonError, String(error));
  equal([error.type, error.message], ['Odd', 'Odd: no way']);
  ok(error.traceback.includes('Traceback') && error.traceback.includes('in fail'), error.traceback);
  equal([...(error.exception as PyObject).args], ['no way']);
  equal(py.eval('__import__("sys").exc_info()[0]'), null);
});

testWith(pythonMissing, 'functions that cannot be called and arguments that cannot be passed reject', async () => {
  const f = py.eval('lambda x: x');
  const tag = async (promise: Promise<unknown>) => ((await rejection(promise)) as { tag: string }).tag;
  equal(await tag(callAsync(() => 1)), 'TypeError');
  equal(await tag(callAsync(f, Symbol('s'))), 'TypeError');
  equal(await tag(callAsync(f, kwargs({ x: new WeakMap() }))), 'TypeError');
  equal(await tag(callAsync(f, ...new Array(40_000).fill([]))), 'ValueError');
  equal(((await rejection(callAsync(py.eval('5 .__class__'), 1, 2, 3))) as PythonError).type, 'TypeError');
  f[Symbol.dispose]();
  equal(await tag(callAsync(f, 1)), 'DisposedError');
});

testWith(
  numpy.missing,
  'tensors that are disposed meanwhile stay alive for the call and are released after it',
  async () => {
    await collect();
    const before = liveCounts().storages;
    const event = py.import('threading').Event();
    const [add] = define(
      'import numpy\ndef add(event, x, y):\n  event.wait()\n  return numpy.from_dlpack(x) + numpy.from_dlpack(y)',
      'add',
    );
    const x = Tensor.from([1, 2, 3], { dtype: 'float32' });
    const y = Tensor.from([10, 20, 30], { dtype: 'float32' });
    const sum = callAsync(add, event, x, kwargs({ y }));
    x.dispose();
    y.dispose();
    event.set();
    const array = await sum;
    const back = fromDLPack(array);
    equal(back.toArray(), [11, 22, 33]);
    back.dispose();
    array[Symbol.dispose]();
    ok(await settleUntil(() => liveCounts().storages <= before), `${liveCounts().storages} of ${before}`);
  },
);

testWith(
  pythonMissing,
  'a signal rejects with its reason; the computation continues, and its result is dropped',
  async () => {
    const [wait, begun, go, done, result] = define(
      `import threading, weakref
begun = threading.Event(); go = threading.Event(); done = threading.Event(); alive = []
class Thing: pass
def wait():
  begun.set(); go.wait(); thing = Thing(); alive.append(weakref.ref(thing)); done.set()
  return thing
def result(): return len(alive), alive[0]() is None`,
      'wait',
      'begun',
      'go',
      'done',
      'result',
    );
    const reason = { why: 'enough' };
    const aborted = AbortSignal.abort(reason);
    equal((await rejection(callAsync.with({ signal: aborted })(wait))) === reason, true);
    const controller = new AbortController();
    const promise = callAsync.with({ signal: controller.signal })(wait, kwargs({}));
    // A call that has not begun would never start.
    await callAsync(begun.wait);
    controller.abort(reason);
    equal((await rejection(promise)) === reason, true);
    go.set();
    await callAsync(done.wait);
    ok(await settleUntil(() => String(result()) === '(1, True)'), String(result()));
    const late = new AbortController();
    equal(await callAsync.with({ signal: late.signal })(py.eval('lambda: 5')), 5);
    late.abort();
  },
);

testWith(pythonMissing, 'a getter among the arguments aborts the call', async () => {
  const controller = new AbortController();
  const argument = {
    get key() {
      controller.abort('inside');
      return 1;
    },
  };
  equal(await rejection(callAsync.with({ signal: controller.signal })(py.eval('lambda x: 5'), argument)), 'inside');
});

testWith(pythonMissing, 'a call that is aborted before a thread is free never begins', async () => {
  const [block, count, go] = define(
    'import threading\ngo = threading.Event()\nran = []\ndef block():\n  ran.append(1)\n  go.wait()\ndef count(): return len(ran)',
    'block',
    'count',
    'go',
  );
  const running = Array.from({ length: 16 }, () => callAsync(block));
  const controller = new AbortController();
  const queued = Array.from({ length: 8 }, () => callAsync.with({ signal: controller.signal })(block));
  const rejected = Promise.all(queued.map(rejection));
  await turn();
  controller.abort();
  for (const error of await rejected) equal((error as Error).name, 'AbortError');
  go.set();
  await Promise.all(running);
  // Calls that had begun by then count too, if the pool is larger than on this machine.
  ok(count() <= 16, `${count()}`);
});

testWith(pythonMissing, "the call sees the caller's context variables, and its changes stay in the call", async () => {
  const [variable, get, change] = define(
    'import contextvars\nvariable = contextvars.ContextVar("v", default=0)\nget = variable.get\ndef change(x):\n  variable.set(x)\n  return get()',
    'variable',
    'get',
    'change',
  );
  variable.set(7);
  equal(await callAsync(get), 7);
  equal(await callAsync(change, 9), 9);
  equal(await Promise.all(Array.from({ length: 20 }, () => callAsync(get))), new Array(20).fill(7));
  equal(get(), 7);
});

testWith(pythonMissing, 'references before and after are equal: success, failure, abort, refusal', async () => {
  const { getrefcount } = py.import('sys');
  const marker = py.eval('object()');
  const [wait, go] = define(
    'import threading\ngo = threading.Event()\ndef wait(*a):\n  go.wait()\n  return a',
    'wait',
    'go',
  );
  const abortsMeanwhile = (): Promise<unknown> => {
    const controller = new AbortController();
    const promise = callAsync.with({ signal: controller.signal })(wait, marker, [marker]);
    controller.abort();
    return promise;
  };
  const ways: [name: string, way: () => Promise<unknown>, ended: string][] = [
    ['success', () => callAsync(py.eval('lambda *a, **k: a[0]'), marker, [marker], kwargs({ k: marker })), 'no error'],
    ['failure', () => callAsync(py.eval('lambda *a, **k: 1 / 0'), marker, { marker }), 'PythonError'],
    ['wrong arguments', () => callAsync(py.eval('lambda: 1'), marker, kwargs({ k: marker })), 'PythonError'],
    ['unconvertible', () => callAsync(py.eval('lambda *a: a'), [marker], Symbol('s')), 'ArgumentTypeError'],
    ['too many', () => callAsync(wait, [marker], ...new Array(32_001).fill(marker)), 'ArgumentValueError'],
    ['aborted before', () => callAsync.with({ signal: AbortSignal.abort() })(wait, marker), 'AbortError'],
    ['aborted meanwhile', abortsMeanwhile, 'AbortError'],
  ];
  for (const [name, way, ended] of ways) {
    const before = getrefcount(marker);
    for (let i = 0; i < 20; i++) {
      let error = 'no error';
      try {
        ((await way()) as Disposable)[Symbol.dispose]();
      } catch (thrown) {
        error = (thrown as Error).name;
      }
      equal([name, error], [name, ended]);
    }
    if (name === 'aborted meanwhile') go.set();
    ok(await settleUntil(() => getrefcount(marker) === before), `${name}: ${getrefcount(marker) - before} more`);
  }
});

for (const [how, expected] of [
  ['waits', 'done'],
  ['aborted', 'stopped'],
] as const) {
  testWith(
    pythonMissing,
    `a process with nothing else to do ${how === 'waits' ? 'waits for calls' : 'does not wait for abandoned calls'}`,
    () => {
      const { code, signal, output } = runChild(import.meta.url, './children/pending.js', { args: [how] });
      equal([code, signal, output.trim()], [0, null, expected], output);
    },
  );
}

testWith(pythonMissing, 'a JavaScript function inside a call has the asynchronous context of the caller', async () => {
  const storage = new AsyncLocalStorage<string>();
  const call = py.eval('lambda f: f()');
  const ask = (name: string): Promise<unknown> => storage.run(name, () => callAsync(call, () => storage.getStore()));
  equal(await Promise.all(['a', 'b', 'c'].map(ask)), ['a', 'b', 'c']);
  const later = await storage.run('later', () =>
    callAsync(call, async () => {
      await Promise.resolve();
      return storage.getStore();
    }),
  );
  equal(later, 'later');
});

testWith(pythonMissing, 'a call starts, and results are released, while another holds the GIL', () => {
  const { code, output } = runChild(import.meta.url, './children/held-gil.js');
  equal(code, 0, output);
  equal(output.trim(), 'ok');
});
