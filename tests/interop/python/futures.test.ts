import { AsyncLocalStorage } from 'node:async_hooks';
import { isDLPackError } from 'dlpack';
import { isPyObject, type PyObject, PythonError } from 'dlpack/python';
import { equal, ok, rejection, throws } from '../../assert.js';
import { runChild } from '../../child.js';
import { collect, testWith } from '../../harness.js';
import { define as defineIn, py, pythonMissing, settleUntil } from './available.js';

const define = (code: string, ...names: string[]): PyObject[] =>
  defineIn(`import asyncio, concurrent.futures, contextvars, threading\n${code}`, ...names);

testWith(pythonMissing, 'results of coroutines, futures, tasks and other awaitables', async () => {
  const [echo, done, later, custom, onLoop] = define(
    `
async def echo(x):
  await asyncio.sleep(0)
  return x
def done(x):
  future = concurrent.futures.Future()
  future.set_result(x)
  return future
def later(x):
  future = concurrent.futures.Future()
  threading.Timer(0.02, future.set_result, [x]).start()
  return future
class Custom:
  def __init__(self, x): self.x = x
  def __await__(self): return echo(self.x).__await__()
class Reference:
  def __init__(self, x): self.x = x
  def future(self): return later(self.x)
class Remote:  # as Dask's futures
  def __init__(self, x): self.x = x
  def add_done_callback(self, f): threading.Timer(0.01, f, [self]).start()
  def result(self): return self.x
  def cancel(self): pass
async def on_loop(x):
  return [asyncio.ensure_future(echo(x)), asyncio.get_running_loop().create_future()]
custom = [Custom, Reference, Remote]
`,
    'echo',
    'done',
    'later',
    'custom',
    'on_loop',
  ) as [PyObject, PyObject, PyObject, PyObject, PyObject];
  const values = [null, true, 5, 2n ** 70n, 1.5, 'text \u{1f389}', new Uint8Array([1, 2])];
  for (const make of [echo, done, later, ...custom]) {
    for (const value of make === echo ? values : [7]) equal(await py.async(make(value)), value);
  }
  ok(isPyObject(await py.async(echo([1]))));
  const [task, future] = [...((await py.async(onLoop(3))) as Iterable<PyObject>)] as [PyObject, PyObject];
  equal(await py.async(task), 3);
  equal(await py.async(task), 3, 'a second time');
  const waits = py.async(future);
  future.get_loop().call_soon_threadsafe(future.set_result, 4);
  equal(await waits, 4);
});

testWith(pythonMissing, 'exceptions of coroutines and futures', async () => {
  const [fail, leave, Deaf] = define(
    `
async def fail(): raise ValueError('no')
async def leave(): raise SystemExit(3)
class Deaf:
  def add_done_callback(self, f): pass
  def cancel(self): pass
`,
    'fail',
    'leave',
    'Deaf',
  ) as [PyObject, PyObject, PyObject];
  const error = (await rejection(py.async(fail()))) as PythonError;
  ok(error instanceof PythonError && error.type === 'ValueError' && error.message === 'ValueError: no', String(error));
  ok(error.traceback.includes('in fail') && isPyObject(error.exception), error.traceback);
  equal(((await rejection(py.async(leave()))) as PythonError).type, 'SystemExit');
  equal(await py.async(py.import('asyncio').sleep(0, 'alive')), 'alive', 'the loop survives it');
  const wrong = (await rejection(py.async(py.eval('object()')))) as PythonError;
  ok(wrong.type === 'TypeError' && wrong.message.includes('Expected a future'), wrong.message);
  const failure = await rejection(py.async(5 as never));
  throws('TypeError', 'a Python object', () => {
    throw failure;
  });
  const deaf = (await rejection(py.async(Deaf()))) as PythonError;
  ok(
    deaf.type === 'RuntimeError' && deaf.message.includes('dropped this future'),
    'a future that forgets its callback',
  );
});

testWith(pythonMissing, 'two hundred futures occupy no thread of the pool', async () => {
  const [futures] = define('futures = [concurrent.futures.Future() for _ in range(200)]', 'futures') as [PyObject];
  const waiting = [...(futures as Iterable<PyObject>)].map((future) => py.async(future));
  // The pool has far fewer threads, so these calls would never run if the futures held them.
  for (let i = 0; i < 20; i++) equal(await py.callAsync(py.eval('lambda i: i'), i), i);
  equal(await py.async(py.import('asyncio').sleep(0, 1)), 1);
  await py.callAsync(py.eval('lambda futures: [f.set_result(i) for i, f in enumerate(futures)]'), futures);
  equal(
    await Promise.all(waiting),
    waiting.map((_, i) => i),
  );
});

testWith(pythonMissing, 'a signal cancels the future and rejects with its reason', async () => {
  const [wait, cancelled, future] = define(
    `
cancelled = threading.Event()
async def wait():
  try: await asyncio.Event().wait()
  finally: cancelled.set()
future = concurrent.futures.Future()
`,
    'wait',
    'cancelled',
    'future',
  ) as [PyObject, PyObject, PyObject];
  const reason = { why: 'enough' };
  const controller = new AbortController();
  const both = [py.async(wait(), { signal: controller.signal }), py.async(future, { signal: controller.signal })];
  await py.async(py.import('asyncio').sleep(0)); // the coroutine has begun
  controller.abort(reason);
  for (const promise of both) ok((await rejection(promise)) === reason);
  await py.callAsync(cancelled.wait);
  while (future.cancelled() !== true) await py.callAsync(py.import('time').sleep, 0.001);
  ok((await rejection(py.async(wait(), { signal: AbortSignal.abort(reason) }))) === reason, 'aborted before');
  const late = new AbortController();
  equal(await py.async(py.import('asyncio').sleep(0, 2), { signal: late.signal }), 2);
  late.abort();
  const self = (await rejection(py.async(future))) as PythonError;
  equal(self.type, 'CancelledError');
});

testWith(pythonMissing, 'a signal that aborts while Python begins to wait, and signals of other types', async () => {
  const [Calling] = define(
    `
class Calling:
  def __init__(self, call, fails): self.call, self.fails, self.is_cancelled = call, fails, threading.Event()
  def add_done_callback(self, f):
    self.f = f
    self.call()
    if self.fails: raise ValueError('refused')
  def cancel(self): self.is_cancelled.set()
`,
    'Calling',
  ) as [PyObject];
  const reason = { why: 'enough' };
  const begin = (fails: boolean): [PyObject, Promise<unknown>] => {
    const controller = new AbortController();
    const awaitable = Calling(() => controller.abort(reason), fails);
    return [awaitable, rejection(py.async(awaitable, { signal: controller.signal }))];
  };
  const [awaitable, rejected] = begin(false);
  ok((await rejected) === reason);
  await py.callAsync(awaitable.is_cancelled.wait);
  equal(((await begin(true)[1]) as PythonError).type, 'ValueError', 'and nothing else is rejected');
  for (const signal of [{}, 5, 'x'] as never[]) {
    const error = await rejection(
      py.async(
        Calling(() => {}, true),
        { signal },
      ),
    );
    ok(isDLPackError(error, 'TypeError') && error.message.includes('an AbortSignal'), String(error));
  }
});

testWith(pythonMissing, 'asynchronous generators and iterators with for await', async () => {
  const [count, closed, fail, iterator] = define(
    `
closed = []
async def count(n):
  try:
    for i in range(n):
      await asyncio.sleep(0)
      yield i
  finally: closed.append(n)
async def fail():
  yield 1
  raise ValueError('no')
class Iterator:
  def __init__(self): self.left = 2
  def __aiter__(self): return self
  def __anext__(self):
    async def step():
      if self.left == 0: raise StopAsyncIteration
      self.left -= 1
      return self.left
    return step()
`,
    'count',
    'closed',
    'fail',
    'Iterator',
  ) as [PyObject, PyObject, PyObject, PyObject];
  const take = async (iterable: AsyncIterable<unknown>, most = Number.POSITIVE_INFINITY) => {
    const taken: unknown[] = [];
    for await (const value of iterable) {
      taken.push(value);
      if (taken.length === most) break;
    }
    return taken;
  };
  equal(await take(count(3)), [0, 1, 2]);
  equal(await take(count(100), 2), [0, 1]);
  equal(String(closed), '[3, 100]', 'leaving the loop closes the generator');
  equal(await take(iterator()), [1, 0]);
  equal(await take(py.eval('[1, 2]')), [1, 2], 'an ordinary iterable');
  const error = (await rejection(take(fail()))) as PythonError;
  equal(error.type, 'ValueError');
});

testWith(pythonMissing, 'ending the steps of iterators does not wait for a loop that a coroutine blocks', async () => {
  const [endless, block, state, stop] = define(
    `
import sys
state = threading.Event(), threading.Event()
async def endless():
  yield 1
  await asyncio.Event().wait()
async def block():
  state[0].set()
  state[1].wait()
def stop():
  sys.modules['_dlpack_futures'].stop_steps(lambda iterator: True, RuntimeError('stopped'), 0.05)
  return state[1].is_set()
`,
    'endless',
    'block',
    'state',
    'stop',
  ) as [PyObject, PyObject, PyObject, PyObject];
  const [blocked, unblock] = [...(state as Iterable<PyObject>)] as [PyObject, PyObject];
  const steps = endless()[Symbol.asyncIterator]() as AsyncIterator<number>;
  equal((await steps.next()).value, 1);
  const next = rejection(steps.next());
  const blocks = py.async(block());
  await py.callAsync(blocked.wait);
  equal(await py.callAsync(stop), false, 'returned while the loop was blocked');
  unblock.set();
  await blocks;
  equal(((await next) as PythonError).message, 'RuntimeError: stopped', 'the loop does it afterwards');
});

for (const how of ['dispose', 'empty']) {
  testWith(pythonMissing, `Ray's get of an array has its own references: ${how}`, () => {
    const { code, output } = runChild(import.meta.url, './children/many-references.js', { args: [how] });
    equal([code, output.trim()], [0, '3000'], output);
  });
}

testWith(pythonMissing, 'a future that JavaScript disposes while it is pending', async () => {
  const [event, wait] = define(
    'event = threading.Event()\nasync def wait():\n  while not event.is_set(): await asyncio.sleep(0.001)\n  return 9',
    'event',
    'wait',
  ) as [PyObject, PyObject];
  const coroutine = wait();
  const promise = py.async(coroutine);
  coroutine[Symbol.dispose]();
  await collect();
  py.exec('import gc; gc.collect()');
  event.set();
  equal(await promise, 9);
});

testWith(pythonMissing, 'a coroutine that calls JavaScript, which throws', async () => {
  const [call] = define('async def call(f):\n  await asyncio.sleep(0)\n  return f(1)', 'call') as [PyObject];
  equal(await py.async(call((x: number) => x + 1)), 2);
  const thrown = new Error('mine');
  const error = (await rejection(
    py.async(
      call(() => {
        throw thrown;
      }),
    ),
  )) as PythonError;
  equal([error.type, error.cause === thrown], ['JavaScriptError', true]);
});

testWith(pythonMissing, 'context: Python’s variables and AsyncLocalStorage', async () => {
  const [variable, get] = define('v = contextvars.ContextVar("v")\nasync def get(): return v.get()', 'v', 'get') as [
    PyObject,
    PyObject,
  ];
  variable.set(11);
  equal(await py.async(get()), 11);
  const store = new AsyncLocalStorage<number>();
  equal(await store.run(5, async () => [await py.async(get()), store.getStore()]), [11, 5]);
});

testWith(pythonMissing, 'a settled future and its result are dropped at once, without a collection', async () => {
  const [make, left] = define(
    `
import weakref
class Value: pass
alive = []
def make():
  future = concurrent.futures.Future()
  value = Value()
  alive[:] = [weakref.ref(future), weakref.ref(value)]
  future.set_result(value)
  return future
left = lambda: sum(weak() is not None for weak in alive)
`,
    'make',
    'left',
  ) as [PyObject, PyObject];
  for (const options of [{}, { signal: new AbortController().signal }]) {
    const future = make();
    const value = await py.async(future, options);
    equal(left(), 2);
    for (const object of [future, value]) object[Symbol.dispose]();
    // Only the thread that settled the future may still run.
    for (let i = 0; i < 20_000 && left() !== 0; i++) await py.async(py.import('asyncio').sleep(0.001));
    equal(left(), 0);
  }
});

testWith(pythonMissing, 'settled futures are dropped', async () => {
  const [make, alive] = define(
    `
import weakref
alive = []
def make():
  future = concurrent.futures.Future()
  alive.append(weakref.ref(future))
  future.set_result(object())
  return future
`,
    'make',
    'alive',
  ) as [PyObject, PyObject];
  for (let i = 0; i < 20; i++) await py.async(make());
  const left = py.eval('lambda alive: sum(weak() is not None for weak in alive)');
  ok(await settleUntil(() => left(alive) === 0), String(left(alive)));
});

for (const [how, expected] of Object.entries({
  end: 'done',
  exit: 'leaving',
  aborted: 'stopped\nstopped',
  worker: 'done\n1',
})) {
  testWith(pythonMissing, `the end with futures: ${how}`, () => {
    const { code, signal, output } = runChild(import.meta.url, './children/futures.js', { args: [how] });
    equal([code, signal, output.trim()], [0, null, expected], output);
  });
}
