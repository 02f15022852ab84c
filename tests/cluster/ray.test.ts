/** dlpack/ray with a real Ray on this machine: the object store, Python tasks and actors, futures and generators. */

import { readFileSync, writeFileSync } from 'node:fs';
import { Tensor } from 'dlpack';
import { addressOf } from 'dlpack/native';
import { kwargs } from 'dlpack/python';
import {
  type ActorHandle,
  get,
  getActor,
  getActorSync,
  getSync,
  init,
  kill,
  type ObjectRef,
  put,
  putSync,
  remote,
  shutdown,
} from 'dlpack/ray';
import { equal, ok, throws } from '../assert.js';
import { runtime, testWith } from '../harness.js';
import { define, failure, py, rayMissing, rejection, start } from './available.js';

testWith(rayMissing, 'init connects, and unknown options throw', async () => {
  const wrong = { numCPUs: 2 } as never;
  let refused: unknown;
  await init(wrong).catch((error: unknown) => {
    refused = error;
  });
  throws('TypeError', 'numCpus', () => {
    throw refused;
  });
  const { address, nodeId } = await start({ namespace: 'tests' });
  ok(/:\d+$/.test(address) && /^[0-9a-f]{56}$/.test(nodeId), `${address} ${nodeId}`);
  equal(py.import('ray').is_initialized(), true);
});

testWith(rayMissing, 'putSync and get: values of every kind', async () => {
  const values = [null, true, 5, 2n ** 70n, 1.5, 'text', [1, [2, 'x']], { a: 1, b: { c: [null] } }];
  for (const value of values) equal(await get(putSync(value)), value as never);
  for (const value of values) equal(getSync(putSync(value)), value as never);
  for (const value of values) equal(getSync(await put(value)), value as never);
  const map = await get(
    putSync(
      new Map<unknown, unknown>([
        [1, 'a'],
        ['b', 2],
      ]),
    ),
  );
  equal(
    [...map],
    [
      [1, 'a'],
      ['b', 2],
    ],
  );
  equal([...(await get(putSync(new Set([1, 2]))))], [1, 2]);
  equal(await get([putSync(1), putSync('b')]), [1, 'b']);
  equal(await get([]), []);
  const [scalar, odd] = define(
    'import numpy, ray\nscalar = ray.put(numpy.float64(2.5))\nodd = ray.put(numpy.array(["a"]))',
    'scalar',
    'odd',
  );
  equal(await get(scalar), 2.5);
  equal(await get(odd), ['a'], 'an array of text, which is no tensor');
  const [foreign] = define(
    `
def foreign():
    class Foreign:
        """As a PyTorch tensor: its dtype is not NumPy's."""
        dtype = 'float64'
        def __init__(self): self.array = numpy.arange(3.0)
        def __dlpack__(self, **options): return self.array.__dlpack__(**options)
        def __dlpack_device__(self): return self.array.__dlpack_device__()
    return Foreign()
foreign = ray.put(foreign())`,
    'foreign',
  );
  equal(((await get(foreign)) as unknown as Tensor).toArray(), [0, 1, 2], 'tensors of other libraries');
  throws('TypeError', 'an ObjectRef', () => getSync(5 as never));
  const wrong = await rejection(get(py.eval('object()')));
  ok(wrong.message.includes('Expected a future'), wrong.message);
});

testWith(rayMissing, 'tensors come out of the object store without a copy, and read-only', async () => {
  const x = Tensor.from(
    [
      [1, 2, 3],
      [4, 5, 6],
    ],
    { dtype: 'float32' },
  );
  equal((await get(putSync(x))).toArray(), [
    [1, 2, 3],
    [4, 5, 6],
  ]);
  const large = Tensor.zeros([32, 2 ** 18], 'float32');
  large.fill(2);
  const ref = putSync(large);
  large.fill(3);
  const [a, b] = [await get(ref), getSync(ref)];
  equal([a.shape, a.dtype, a.isReadOnly, a.get(31, 5)], [[32, 2 ** 18], 'float32', true, 2], 'a copy, made by put');
  ok(addressOf(a) === addressOf(b) && addressOf(a) !== addressOf(large), 'two gets see one memory');
  const inPython = py.eval('lambda ref: ray.get(ref).__array_interface__["data"]')(ref);
  equal([...inPython], [Number(addressOf(a)), true], 'which is where Python sees it');
  throws('ReadOnlyError', '', () => a.fill(0));
  for (const tensor of [a, b, ref]) tensor[Symbol.dispose]();
  const nested = await get(putSync({ list: [x, 'y'] }));
  equal((nested.list[0] as Tensor).get(1, 1), 5);
});

testWith(rayMissing, 'the object store reuses the memory of disposed references and tensors', async () => {
  const free = py.eval('lambda: ray.available_resources()["object_store_memory"]');
  const addresses: bigint[] = [];
  const rounds = 12; // together larger than the store, so that some must share memory
  const nbytes = 2n ** 25n;
  const others = 2 ** 20; // small objects of other tests, which Ray may report later
  const before = (await py.callAsync(free)) as number;
  for (let i = 0; i < rounds; i++) {
    const ref = putSync(Tensor.zeros([32, 2 ** 18], 'float32'));
    const x = await get(ref);
    addresses.push(addressOf(x));
    x.dispose();
    ref[Symbol.dispose]();
    while (((await py.callAsync(free)) as number) < before - others) await py.callAsync(py.import('time').sleep, 0.02);
  }
  addresses.sort((a, b) => Number(a - b));
  const shared = addresses.filter((address, i) => i > 0 && address - (addresses[i - 1] as bigint) < nbytes);
  ok(shared.length > 0, `${rounds} tensors at ${addresses.join(', ')}`);
});

testWith(rayMissing, 'the copy in the object store is the only one', async () => {
  const ref = putSync(Tensor.zeros([32, 2 ** 18], 'float32'));
  const own = () => Number(/RssAnon:\s*(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) / 1024;
  const before = own();
  const x = await get(ref);
  let sum = 0;
  for (const value of x.unsafeData()) sum += value;
  equal(sum, 0);
  const grown = own() - before;
  ok(grown < 16, `${grown} MiB`);
  console.log(`  32 MiB read: the memory of this process grew by ${grown.toFixed(1)} MiB`);
  x.dispose();
  ref[Symbol.dispose]();
});

testWith(rayMissing, 'Python functions as tasks: tensors, keywords, options, several results', async () => {
  const [scale, divide, pid] = define(
    `
import os
def pid():
    return os.getpid()
def scale(x, by=2):
    return x * by
def divide(a, b):
    return a // b, a % b
def fail():
    raise KeyError('missing')
`,
    'scale',
    'divide',
    'pid',
  );
  const scaled = remote<(x: Tensor<'float32'>, ...rest: unknown[]) => Tensor<'float32'>>(scale, { numCpus: 0.5 });
  const x = Tensor.from([1, 2], { dtype: 'float32' });
  equal((await get(await scaled.remote(x, kwargs({ by: 5 })))).toArray(), [5, 10], 'started on another thread');
  const ref = scaled.remoteSync(x);
  equal((await get(ref)).toArray(), [2, 4]);
  equal(
    (await get(scaled.remoteSync(putSync(x), kwargs({ by: 3 })))).toArray(),
    [3, 6],
    'a reference in place of its value',
  );
  equal((await get(scaled.remoteSync(ref))).toArray(), [4, 8], 'a result that was never here');
  const both = remote(divide, { numReturns: 2 }).remoteSync(17, 5) as unknown as ObjectRef<number>[];
  equal(await get(both), [3, 2]);
  const later = (await remote(divide, { numReturns: 2 }).remote(17, 3)) as unknown as ObjectRef<number>[];
  equal(await get(later), [5, 2]);
  const fresh = remote<() => number>(pid, { maxCalls: 1, numCpus: 0.5 });
  const pids = [await get(await fresh.remote()), await get(fresh.options({ numCpus: 1 }).remoteSync())];
  ok(pids[0] !== pids[1], 'each call has a worker of its own');
  const twice = remote<() => number>(pid, { maxCalls: 2, numCpus: 1 });
  const workers = new Set<number>();
  for (const name of ['a', 'b', 'c', 'd']) workers.add(await get(await twice.options({ name }).remote()));
  ok(workers.size > 1, 'calls with other options count, too');
  throws('TypeError', 'maxCalls', () => remote(py.import('decimal').Decimal, { maxCalls: 1 } as never));
  throws('TypeError', "did you mean 'numCpus'", () => remote(scale, { numCPU: 1 } as never));
  throws('TypeError', 'maxRestarts', () => remote(scale, { maxRestarts: 1 } as never));
  throws('TypeError', 'a Python function or class', () => remote((() => 1) as never));
  const error = await rejection(get(remote(py.eval('fail'), { maxRetries: 0 }).remoteSync()));
  equal(error.type, 'RayTaskError(KeyError)');
  ok(
    error.traceback.includes('in fail') && (runtime === 'bun' || /ray\.test\.[jt]s/.test(error.stack ?? '')),
    error.stack,
  );
});

interface Tally {
  add(x: number): number;
  whoami(): number;
}

testWith(rayMissing, 'Python classes as actors, found by name from both languages', async () => {
  const [tally] = define(
    `
class Tally:
    def __init__(self, start): self.n = start
    def add(self, x):
        self.n += x
        return self.n
    def whoami(self):
        import os
        return os.getpid()
`,
    'Tally',
  );
  const Remote = remote<new (start: number) => Tally>(tally, { numCpus: 0 });
  const handle: ActorHandle<Tally> = Remote.options({ name: 'tally', maxRestarts: 1 }).remoteSync(10);
  equal(await get(await handle.add.remote(5)), 15);
  equal(await get(handle.add.remoteSync(0)), 15);
  equal(await get(await (await getActor<Tally>('tally')).add.remote(putSync(1))), 16);
  equal(await py.async(py.eval('lambda: ray.get_actor("tally", namespace="tests").add.remote(1)')()), 17);
  const before = await get(await handle.whoami.remote());
  await kill(handle, { restart: true });
  let after = before;
  while (after === before) after = await get(handle.whoami.remoteSync()).catch(() => before);
  equal(await get(await handle.add.remote(1)), 11, 'started again');
  await kill(handle);
  const error = await failure(async () => get(await handle.add.remote(1)));
  ok(/Actor(Died|Unavailable)Error/.test(error.type), error.type);
  throws('PythonError', 'tally', () => getActorSync('nobody-is-called-tally'));
  ok((await rejection(getActor('nobody-is-called-tally'))).message.includes('tally'));
});

testWith(rayMissing, 'two hundred waiting references hold no thread', async () => {
  const [Slow] = define(
    `
import asyncio
class Slow:
    def __init__(self): self.event = asyncio.Event()
    async def wait(self, i):
        await self.event.wait()
        return i
    async def open(self): self.event.set()
`,
    'Slow',
  );
  const handle = remote<new () => { wait(i: number): number; open(): void }>(Slow, { numCpus: 0 }).remoteSync();
  const waiting = Array.from({ length: 200 }, async (_, i) => get(await handle.wait.remote(i)));
  // More calls than the pool has threads.
  for (let i = 0; i < 40; i++) equal(await py.callAsync(py.eval('lambda i: i'), i), i);
  await get(await handle.open.remote());
  equal(
    await Promise.all(waiting),
    waiting.map((_, i) => i),
  );
  await kill(handle);
});

testWith(
  rayMissing,
  'many references at once: values in order, the first error, a signal, and no memory left',
  async () => {
    const [wait, fail, full] = define(
      `
import gc, os, time
def wait(path, x):
    while not os.path.exists(path): time.sleep(0.01)
    return x
def fail(): raise KeyError('missing')
def full():
    groups = [one for one in gc.get_objects() if type(one).__name__ == 'Group']
    return sum(len(group.values) + len(group.cancels) for group in groups)
`,
      'wait',
      'fail',
      'full',
    );
    const path = `${py.import('tempfile').mkdtemp() as string}/go`;
    const waits = remote<(path: string, x: number) => number>(wait, { numCpus: 0 });
    const slow = waits.remoteSync(path, 5);
    const here = putSync('b');
    // More references than one turn of the event loop adds. `slow` has no value yet, and `slow` and `here` repeat.
    const many = Array.from({ length: 150 }, (_, i) => (i % 3 === 0 ? slow : i % 3 === 1 ? here : putSync(i)));
    const values = get(many);
    const fails = remote(fail, { maxRetries: 0 });
    const error = await rejection(get([slow, fails.remoteSync()]));
    equal(error.type, 'RayTaskError(KeyError)', 'although the other reference still waits');
    const failed = fails.remoteSync();
    await rejection(get(failed));
    equal((await rejection(get([here, failed, slow]))).type, 'RayTaskError(KeyError)', 'an error that exists already');
    const controller = new AbortController();
    const reason = { why: 'enough' };
    const stopped = get([slow, here], { signal: controller.signal }).catch((thrown: unknown) => thrown);
    controller.abort(reason);
    ok((await stopped) === reason);
    const before = get([here], { signal: AbortSignal.abort(reason) });
    ok((await before.catch((thrown: unknown) => thrown)) === reason, 'aborted before');
    writeFileSync(path, '');
    equal(await values, many.map((_, i) => (i % 3 === 0 ? 5 : i % 3 === 1 ? 'b' : i)) as never);
    const tensors = await get(
      Array.from({ length: 70 }, (_, i) => putSync(Tensor.from([i, i + 1], { dtype: 'float32' }))),
    );
    equal(
      tensors.map((x) => x.get(1)),
      tensors.map((_, i) => i + 1),
    );
    for (const tensor of tensors) tensor.dispose();
    for (let i = 0; i < 2000 && full() !== 0; i++) await py.callAsync(py.import('time').sleep, 0.01);
    equal(full(), 0, 'no value and no future is left, without a collection');
  },
);

testWith(rayMissing, 'a signal stops the waiting, and the task goes on', async () => {
  const [wait] = define(
    'def wait(path):\n    import os, time\n    while not os.path.exists(path): time.sleep(0.01)\n    return 5',
    'wait',
  );
  const path = `${py.import('tempfile').mkdtemp() as string}/go`;
  const ref = remote<(path: string) => number>(wait, { numCpus: 0 }).remoteSync(path);
  const controller = new AbortController();
  const reason = { why: 'enough' };
  const promise = get(ref, { signal: controller.signal });
  controller.abort(reason);
  let received: unknown;
  await promise.catch((error: unknown) => {
    received = error;
  });
  ok(received === reason);
  writeFileSync(path, '');
  equal(await get(ref), 5);
});

testWith(rayMissing, 'generators of Ray with for await', async () => {
  const [count] = define(
    '@ray.remote(num_cpus=0)\ndef count(n):\n    for i in range(n):\n        yield numpy.full(4, i)',
    'count',
  );
  const seen: number[] = [];
  for await (const ref of count.remote(3) as AsyncIterable<ObjectRef<Tensor<'int64'>>>) {
    seen.push(Number((await get(ref)).get(3)));
  }
  equal(seen, [0, 1, 2]);
});

testWith(rayMissing, 'shutdown, and a second connection', async () => {
  const [forever] = define('def forever():\n    import time\n    while True: time.sleep(1)', 'forever');
  const endlessly = remote(forever, { numCpus: 0 });
  const waiting = [rejection(get(endlessly.remoteSync())), rejection(get([putSync(1), endlessly.remoteSync()]))];
  const half = get(Array.from({ length: 300 }, (_, i) => putSync(i))).catch((error: unknown) => error);
  const [endless] = define(
    '@ray.remote(num_cpus=0)\ndef endless():\n    import time\n    yield 1\n    while True: time.sleep(1)',
    'endless',
  );
  const seen: number[] = [];
  const iterating = rejection(
    (async () => {
      for await (const ref of endless.remote() as AsyncIterable<ObjectRef<number>>) seen.push(await get(ref));
    })(),
  );
  const countSteps = py.eval("lambda: len(__import__('sys').modules['_dlpack_futures'].steps)");
  while (seen.length === 0 || countSteps() === 0) await py.callAsync(py.import('time').sleep, 0.01);
  await shutdown();
  for (const error of await Promise.all(waiting)) {
    ok(error.message.includes('shutdown()'), `a promise that waits is rejected: ${error.message}`);
  }
  await half; // settles in any case, whether shutdown came first or not
  ok((await iterating).message.includes('shutdown()'), 'and so is a loop over a generator');
  equal(py.import('ray').is_initialized(), false);
  await start();
  equal(await get(putSync(7)), 7);
  await shutdown();
});
