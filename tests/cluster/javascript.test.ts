/** Tasks and actors in JavaScript, called from JavaScript and from Python. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { scope, Tensor } from 'dlpack';
import { addressOf } from 'dlpack/native';
import { isPyObject, type PythonError } from 'dlpack/python';
import {
  type ActorHandle,
  actor,
  get,
  getActor,
  getActorSync,
  getSync,
  kill,
  killSync,
  type ObjectRef,
  put,
  putSync,
  RemoteError,
  shutdown,
  task,
} from 'dlpack/ray';
import { equal, ok, throws } from '../assert.js';
import { runtime, testWith } from '../harness.js';
import { py, rayMissing, rejection, start } from './available.js';
import type * as workers from './workers.js';

const module = new URL('./workers.js', import.meta.url);
const Counter = actor<typeof workers.Counter>(module, 'Counter', { numCpus: 0 });
let counter: ActorHandle<workers.Counter>;

testWith(rayMissing, 'an actor in JavaScript keeps its state in a process of its own', async () => {
  await start({ namespace: 'javascript' });
  counter = await Counter.options({ name: 'counter' }).remote(10);
  equal(await get(await counter.add.remote(5)), 15);
  const answers = await Promise.all([counter.add.remote(), counter.add.remote(), counter.add.remote()]);
  equal(await get(answers), [16, 17, 18], 'in order');
  const { pid, runtime: there } = await get(await counter.process.remote());
  ok(pid !== process.pid && there === runtime, `${pid} ${there}`);
});

testWith(rayMissing, 'Python calls the actor like one of its own', async () => {
  const call = py.eval(`lambda: __import__('ray').get(__import__('ray').get_actor('counter').add.remote(2))`);
  equal(await py.callAsync(call), 20);
  py.exec(`
import ray
@ray.remote(num_cpus=0)
def through(handle, x):
    return ray.get(handle.describe.remote(x))[:3]
`);
  const described = await get(py.eval('through').remote(counter, putSync(Tensor.zeros([2, 3], 'int16'))));
  equal(described as unknown, ['int16', [2, 3], true]);
  equal(await get(await (await getActor<workers.Counter>('counter')).add.remote(1)), 21);
});

testWith(rayMissing, 'calls of one handle arrive in their order, with the arguments that they had', async () => {
  const keeper = await Counter.remote();
  const large = Tensor.zeros([2 ** 22], 'float32'); // Ray copies it into the object store
  const small = Tensor.from([1, 2, 3], { dtype: 'float32' });
  const answers = [keeper.add.remote(1), keeper.describe.remote(large), keeper.describe.remote(small)];
  for (const x of [large, small]) x.dispose();
  const refused = keeper.echo.remote(Symbol('no value') as never).catch((error: unknown) => error);
  const later = Array.from({ length: 50 }, () => keeper.add.remote(1));
  const [first, ...described] = (await get(await Promise.all(answers))) as [
    number,
    [string, number[]],
    [string, number[]],
  ];
  equal([first, ...described.map(([, shape]) => [...shape])], [1, [2 ** 22], [3]]);
  const refusal = await refused;
  throws('TypeError', 'a value that Python can take', () => {
    throw refusal;
  });
  equal(
    await get(await Promise.all(later)),
    later.map((_, i) => i + 2),
  );
  keeper[Symbol.dispose]();
});

testWith(rayMissing, 'a handle is an object of JavaScript everywhere', async () => {
  const asked = task<typeof workers.askActor>(module, 'askActor', { numCpus: 0.5 });
  const [isPromise, before] = await get(await asked.remote({ actor: counter }));
  ok(isPromise, 'in a task, inside another argument');
  const [first, second] = await get([putSync(counter), putSync(counter)] as const);
  equal(await get(await first.add.remote(1)), before + 1, 'from the object store');
  const single = getSync(await put(counter));
  equal(getSync(single.add.remoteSync(1)), before + 2);
  ok(isPyObject(single) && String(single).startsWith('Actor('), String(single));
  second[Symbol.dispose]();
  throws('DisposedError', '', () => second.add);
  const options = { name: 'two', numReturns: 2 };
  const both = (await counter.echo.options(options).remote('a', 'b')) as unknown as ObjectRef<string>[];
  equal(await get(both), ['a', 'b']);
  equal(getSync(counter.echo.options(options).remoteSync(1, 2) as unknown as ObjectRef<number>[]), [1, 2]);
  equal((await counter.add.options({ numReturns: 0 }).remote(0)) as unknown, []);
  throws('TypeError', "did you mean 'numReturns'", () => counter.add.options({ numReturn: 2 } as never));
  let inner: ActorHandle<workers.Counter> | null = null;
  scope(() => {
    inner = getActorSync<workers.Counter>('counter');
    getSync(inner.add.remoteSync(-3));
  });
  throws('DisposedError', '', () => (inner as unknown as ActorHandle<workers.Counter>).add);
  const kept = scope(() => getActorSync<workers.Counter>('counter'));
  equal(getSync(kept.add.remoteSync(0)), before - 1, 'a scope keeps a handle that it returns');
  const other = await Counter.remote();
  killSync(other);
  ok(/Actor(Died|Unavailable)Error/.test((await rejection(get(other.add.remoteSync()))).type));
});

testWith(rayMissing, 'values in and out', async () => {
  const sent = [null, true, 1.5, 'text', [1, 'a'], { a: { b: [2] } }];
  equal((await get(await counter.echo.remote(...sent))) as unknown, sent);
  const keywords = py.eval(`lambda: ray.get_actor('counter').echo.remote(1, by=2)`)();
  equal(await get(keywords), [1, { by: 2 }] as unknown, 'keyword arguments are an object at the end');
  const error = await rejection(get(await counter.date.remote()));
  ok(error.message.includes('Date'), 'what cannot cross says so');
});

testWith(rayMissing, 'tensors pass through the object store, without a second copy', async () => {
  const x = Tensor.empty([16, 2 ** 18], 'float32');
  x.fill(1.25);
  const ref = putSync(x);
  const here = await get(ref);
  const [dtype, shape, isReadOnly] = await get(await counter.describe.remote(ref));
  equal([dtype, [...shape], isReadOnly], ['float32', [16, 2 ** 18], true]);
  const back = await get(await counter.same.remote(ref));
  ok(back.isReadOnly && back.get(15, 7) === 1.25 && addressOf(back) !== addressOf(here), 'a new object in the store');
  const again = counter.same.remoteSync(ref);
  ok(addressOf(await get(again)) === addressOf(getSync(again)), 'which two gets share');
  await get(await counter.keep.remote(ref));
  equal(await get(await counter.kept.remote()), x.size, 'a tensor that the actor owns outlives the call');
  await get(await counter.keepWrongly.remote(putSync(x.slice(0))));
  const error = await rejection(get(await counter.kept.remote()));
  ok(error.cause instanceof RemoteError && error.cause.type === 'DisposedError', String(error.cause));
  for (const tensor of [here, back]) tensor.dispose();
});

testWith(rayMissing, 'errors carry the stacks of both sides', async () => {
  const error = await rejection(get(await counter.fail.remote('too far')));
  const { cause } = error as PythonError & { cause: RemoteError };
  ok(cause instanceof RemoteError, String(cause));
  equal([cause.type, cause.message], ['RangeError', 'too far']);
  ok(/workers\.[jt]s/.test(cause.stack ?? ''), cause.stack);
  // Bun records no callers that wait.
  ok(runtime === 'bun' || /javascript\.test\.[jt]s/.test(error.stack ?? ''), error.stack);
  ok(/workers\.[jt]s/.test(error.traceback) && error.traceback.includes('ray::'), error.traceback);
  const inPython = py.eval(`lambda: catch(ray.get_actor('counter').fail.remote('here, too'))`);
  py.exec(`
def catch(ref):
    try:
        ray.get(ref)
    except Exception as error:
        return [type(error).__name__, error.cause.name, error.cause.message, 'workers.' in str(error)]
`);
  const caught = await py.callAsync(inPython);
  equal([...(caught as Iterable<unknown>)], ['RayTaskError(JavaScriptError)', 'RangeError', 'here, too', true]);
  const inner = await rejection(get(await counter.failInPython.remote()));
  ok(inner.type.includes('ZeroDivisionError'), inner.type);
  const text = await rejection(get(await counter.throwText.remote()));
  ok((text.cause as RemoteError).message === 'only text');
  const construct = await rejection(get(await (await Counter.remote(-1)).add.remote()));
  ok(construct.message.includes('a counter starts at zero'), construct.message);
});

testWith(rayMissing, 'WebAssembly traps stay exceptions in a worker', async () => {
  equal(await get(await counter.trap.remote()), 'RuntimeError');
});

testWith(rayMissing, 'calls run at once when the actor allows it', async () => {
  const two = await Counter.options({ maxConcurrency: 2 }).remote();
  const blocked = await two.block.remote();
  await get(await two.release.remote());
  equal(await get(blocked), 'released');
  await kill(two);
});

testWith(rayMissing, 'an actor that dies starts again', async () => {
  const fragile = await Counter.options({ maxRestarts: 1, maxTaskRetries: 0 }).remote(3);
  equal(await get(await fragile.add.remote()), 4);
  const first = (await get(await fragile.process.remote())).pid;
  const died = await rejection(get(await fragile.crash.remote()));
  ok(/Actor(Died|Unavailable)Error/.test(died.type), died.type);
  let pid = first;
  while (pid === first) pid = (await get(fragile.process.remoteSync()).catch(() => ({ pid: first }))).pid;
  equal(await get(await fragile.add.remote()), 4, 'from its constructor');
  await kill(fragile);
});

testWith(rayMissing, 'tasks in JavaScript', async () => {
  const twice = task<typeof workers.twice>(module, 'twice', { numCpus: 0.5 });
  const x = Tensor.from([1, 2, 3], { dtype: 'float32' });
  equal((await get(twice.remoteSync(twice.remoteSync(x)))).toArray(), [4, 8, 12]);
  equal((await get(await twice.remote(x))).toArray(), [2, 4, 6], 'started on another thread');
  const slow = task<typeof workers.slow>(module, 'slow', { numCpus: 0.5 });
  const refs = [5, 6, 7].map((ms) => slow.remoteSync(ms));
  equal(await get(refs), [5, 6, 7]);
  equal(await get(task<typeof workers.total>(module, 'total', { numCpus: 0.5 }).remoteSync(refs)), 18, 'get in a task');
  const error = await rejection(get(task(module, 'explode', { maxRetries: 0 }).remoteSync()));
  ok(error.cause instanceof RemoteError && error.cause.stack?.includes('explode') === true, String(error.cause));
  const again = task<typeof workers.once>(module, 'once', { maxRetries: 1 });
  const folder = mkdtempSync(join(tmpdir(), 'dlpack-ray-'));
  equal(await get(again.remoteSync(join(folder, 'once'))), 'second', 'after its worker died');
  rmSync(folder, { recursive: true });
  const fresh = task<typeof workers.ownProcess>(module, 'ownProcess', { maxCalls: 1 });
  const pids = [await get(await fresh.remote()), await get(fresh.remoteSync()), await get(await fresh.remote())];
  equal(new Set(pids).size, 3, 'each call has a worker of its own');
  const missing = await rejection(get(task(module, 'nothing', { maxRetries: 0 }).remoteSync()));
  ok(missing.message.includes('exports'), missing.message);
});

testWith(rayMissing, 'wrong arguments', async () => {
  throws('ValueError', 'a file URL', () => actor('./workers.js', 'Counter'));
  throws('TypeError', 'the URL of a module', () => actor(5 as never, 'Counter'));
  throws('TypeError', 'maxRetries', () => task(module, 'twice', { maxRetry: 1 } as never));
  let failure: unknown;
  await actor(module, 'Nothing')
    .remote()
    .catch((error: unknown) => {
      failure = error;
    });
  throws('ValueError', 'a class that', () => {
    throw failure;
  });
});

testWith(rayMissing, 'an actor class that failed once can be used later', async () => {
  const Late = actor<typeof workers.Counter>(module, 'Late', { numCpus: 0 });
  const failed = await Late.remote().then(
    () => null,
    (error: unknown) => error,
  );
  throws('ValueError', 'a class that', () => {
    throw failed;
  });
  ((await import(module.href)) as typeof workers).defineLate();
  await kill(await Late.remote());
});

testWith(rayMissing, 'shutdown', async () => {
  await kill(counter);
  await shutdown();
});
