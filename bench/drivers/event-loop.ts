/**
 * The delay of the event loop while work runs on other threads: prints the delays in milliseconds as JSON. A timer of
 * one millisecond is late by the time in which the loop could not run.
 */

import { existsSync, readFileSync } from 'node:fs';
import { fromDLPack, Tensor } from 'dlpack';
import { devices } from 'dlpack/cuda';
import { kwargs, python } from 'dlpack/python';

const DURATION = 3000;
const AT_ONCE = 4;

const py = python();
py.exec(`
def spin(n):
    total = 0
    for i in range(n):
        total += i
    return total
`);
const { spin } = py.import('__main__');
py.exec(`
import numpy, threading
class Busy:
    """Threads that run Python code until they are stopped."""
    def __init__(self, count):
        self.goes_on = True
        self.threads = [threading.Thread(target=self.run) for _ in range(count)]
        for thread in self.threads: thread.start()
    def run(self):
        while self.goes_on: spin(1000)
    def stop(self):
        self.goes_on = False
        for thread in self.threads: thread.join()
import torch
def ones(library):
    return library.ones(1 << 18)  # 1 or 2 MiB
def array():
    return ones(numpy)
def tensor():
    return ones(torch)
def parts():
    return {'label': 'cat', 'scores': (array(), tensor()), 'boxes': [array()]}
def fail():
    raise ValueError('no such image')
def take(x, names, *, options):
    return len(names) + x.shape[0]
`);
const { array, Busy, fail, parts, take, tensor } = py.import('__main__');
const large = Tensor.zeros([16 * 2 ** 20], 'float32').fill(1);
const released = (tensor: Tensor): void => tensor.dispose();

let device: string | null = null;
try {
  device = devices().length > 0 ? 'cuda:0' : null;
} catch {
  // There is no driver.
}

/** What a server does, beside eight threads that never wait. The names say what runs on the event loop. */
const besideThreads: Record<string, (() => Promise<unknown>) | null> = {
  nothing: null,
  'callTensorAsync, dispose': () => py.callTensorAsync(array).then(released),
  'callTensorAsync of PyTorch, dispose': () => py.callTensorAsync(tensor).then(released),
  'callAsync, release': () => py.callAsync(array).then((object) => py.release(object)),
  'callAsync, fromDLPack, release': async () => {
    using object = await py.callAsync(array);
    released(fromDLPack(object));
  },
  'callAsync of PyTorch, fromDLPack, release': async () => {
    using object = await py.callAsync(tensor);
    released(fromDLPack(object));
  },
  'callToJSAsync of a dict, a tuple and a list of tensors, dispose': async () => {
    const { scores, boxes } = (await py.callToJSAsync(parts)) as { scores: Tensor[]; boxes: Tensor[] };
    for (const each of [...scores, ...boxes]) released(each);
  },
  'callAsync of a function that raises': () => py.callAsync(fail).catch(() => null),
  'callAsync with a tensor, a list of texts and a dict': () =>
    py.callAsync(take, large, ['left', 'right'], kwargs({ options: { size: 3 } })),
};

const rows: Record<string, (() => Promise<unknown>) | null> = {
  'nothing, to compare with': null,
  'callAsync of a pure Python loop': () => py.callAsync(spin, 2_000_000),
  "astypeAsync('float64') of 64 MiB": () => large.astypeAsync('float64').then(released),
  'copyAsync of 64 MiB': () => large.copyAsync().then(released),
};
if (device !== null) {
  rows["toAsync('cuda:0') of 64 MiB"] = () => large.toAsync('cuda:0').then(released);
}

const schedule = '/proc/thread-self/schedstat';
const hasSchedule = existsSync(schedule);
/** The milliseconds in which this thread was ready, and waited for a core. Only Linux counts them; elsewhere NaN. */
const waited = (): number => (hasSchedule ? Number(readFileSync(schedule, 'utf8').split(' ')[1]) / 1e6 : Number.NaN);

interface Delays {
  /** How late each timer was. */
  late: number[];
  /** The part of the longest of them in which the thread waited for a core; NaN, which is null in JSON, if nobody counts it. */
  waited: number;
  /** How long each start of an operation took. */
  starts: number[];
}

async function measure(start: (() => Promise<unknown>) | null): Promise<Delays> {
  const late: number[] = [];
  let longest = { late: 0, waited: 0 };
  const starts: number[] = [];
  const end = performance.now() + DURATION;
  const keepBusy = async (): Promise<void> => {
    while (start !== null && performance.now() < end) {
      const before = performance.now();
      const running = start();
      starts.push(performance.now() - before);
      await running;
    }
  };
  const busy = Array.from({ length: AT_ONCE }, keepBusy);
  while (performance.now() < end) {
    const before = waited();
    const due = performance.now() + 1;
    await new Promise((resolve) => setTimeout(resolve, 1));
    const delay = Math.max(0, performance.now() - due);
    late.push(delay);
    // The thread may also have waited in the millisecond before.
    if (delay > longest.late) longest = { late: delay, waited: Math.min(delay, waited() - before) };
  }
  await Promise.all(busy);
  return { late, waited: longest.waited, starts };
}

const results: Record<string, Delays> = {};
for (const [name, start] of Object.entries(rows)) results[name] = await measure(start);
const busy = await py.callAsync(Busy, 8);
for (const [name, start] of Object.entries(besideThreads)) results[`beside: ${name}`] = await measure(start);
await py.callAsync(busy.stop);
console.log(JSON.stringify(results));
