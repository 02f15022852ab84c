/** Times Ray from this process, on the cluster whose address is the first argument, and prints the samples as JSON. */

import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Tensor } from 'dlpack';
import { python } from 'dlpack/python';
import { actor, get, getSync, init, kill, putSync, remote, shutdown } from 'dlpack/ray';
import type * as workers from './cluster-workers.js';

const [address = ''] = process.argv.slice(2);
const MIB = 2 ** 20;

const py = python();
py.exec(`
import numpy
def nothing(): return None
def make(): return numpy.ones(64 * 2**20, 'float32')
def first(x): return float(x[0])
class Actor:
    def nothing(self): return None
def pass_on(x): return x
import asyncio
class Slow:
    def __init__(self): self.event = asyncio.Event()
    async def wait(self): await self.event.wait()
    async def open(self): self.event.set()
`);
await init({ address, loggingLevel: 'error', logToDriver: false });

const results: Record<string, number[]> = {};
async function time(name: string, samples: number, action: () => unknown, after: (value: never) => void = () => {}) {
  const times: number[] = [];
  for (let i = -Math.ceil(samples / 5); i < samples; i++) {
    const start = performance.now();
    const value = await action();
    if (i >= 0) times.push(performance.now() - start);
    after(value as never);
  }
  results[name] = times;
}

function add(name: string, sample: number) {
  results[name] = [...(results[name] ?? []), sample];
}

const large = Tensor.empty([64 * MIB], 'float32');
large.fill(1);
await time(
  'put 256 MiB',
  6,
  () => putSync(large),
  (ref: Disposable) => ref[Symbol.dispose](),
);
// Another process makes the object. A process holds an object that it put until the store answers, and `get` does not ask the
// store meanwhile.
const ref = remote<() => Tensor>(py.eval('make')).remoteSync();
await get(ref).then((x) => x.dispose());
await time(
  'get 256 MiB',
  100,
  () => getSync(ref),
  (x: Tensor) => x.dispose(),
);
await time(
  'get 256 MiB, await',
  100,
  () => get(ref),
  (x: Tensor) => x.dispose(),
);
ref[Symbol.dispose]();

const nothing = remote(py.eval('nothing'));
await get(nothing.remoteSync());
await time('task', 200, () => getSync(nothing.remoteSync()));
await time('task, await', 200, () => get(nothing.remoteSync()));

const inPython = remote<new () => { nothing(): null }>(py.eval('Actor'), { numCpus: 0 }).remoteSync();
await get(await inPython.nothing.remote());
await time('actor', 400, () => getSync(inPython.nothing.remoteSync()));
await time('actor, await', 400, async () => get(await inPython.nothing.remote()));
await kill(inPython);

const module = new URL('./cluster-workers.js', import.meta.url);
const inJavaScript = await actor<typeof workers.Actor>(module, 'Actor', { numCpus: 0 }).remote();
await get(await inJavaScript.nothing.remote());
await time('JavaScript actor', 400, () => getSync(inJavaScript.nothing.remoteSync()));
await time('JavaScript actor, await', 400, async () => get(await inJavaScript.nothing.remote()));
await kill(inJavaScript);

const Slow = remote<new () => { wait(): null; open(): null }>(py.eval('Slow'), { numCpus: 0 });
const slow = Slow.remoteSync();
const pass = py.eval('pass_on');
await time('a call', 200, () => py.callAsync(pass, 1));
const waiting = Array.from({ length: 200 }, async () => get(await slow.wait.remote()));
await time('a call beside 200 waiting references', 200, () => py.callAsync(pass, 1));
await get(await slow.open.remote());
await Promise.all(waiting);
await kill(slow);

/** All tasks are in flight at once. Ray copies each argument on another thread. */
const first = remote<(x: Tensor<'float32'>) => number>(py.eval('first'));
const part = Tensor.empty([MIB / 4], 'float32');
part.fill(2);
const programs: Record<string, () => Promise<number[]>> = {
  'one get': async () => get(await Promise.all(Array.from({ length: 1000 }, () => first.remote(part)))),
  'a get for each': () => Promise.all(Array.from({ length: 1000 }, async () => get(await first.remote(part)))),
};
for (let round = 0; round < 3; round++) {
  for (const [name, program] of Object.entries(programs)) {
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    const start = performance.now();
    const values = await program();
    const seconds = (performance.now() - start) / 1000;
    delay.disable();
    if (values.length !== 1000 || values.some((value) => value !== 2)) throw new Error('a wrong result');
    if (round === 0) continue;
    add(`1000 tasks of 1 MiB, ${name}, seconds`, seconds);
    add(`longest delay of the event loop, ${name}`, delay.max / 1e6);
    add(`99th percentile of the delay, ${name}`, delay.percentile(99) / 1e6);
  }
}
await shutdown();
console.log(JSON.stringify(results));
