/**
 * The delay of the event loop while work runs on other threads: prints the delays in milliseconds as JSON. A timer of
 * one millisecond is late by the time in which the loop could not run.
 */

import { fromDLPack, Tensor } from 'dlpack';
import { devices } from 'dlpack/cuda';
import { python } from 'dlpack/python';

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
def ones():
    return numpy.ones(1 << 18)
`);
const { Busy, ones } = py.import('__main__');
const large = Tensor.zeros([16 * 2 ** 20], 'float32').fill(1);
const released = (tensor: Tensor): void => tensor.dispose();

let device: string | null = null;
try {
  device = devices().length > 0 ? 'cuda:0' : null;
} catch {
  // There is no driver.
}

/** Rows with eight threads of Python that never wait. */
const withThreads = new Set([
  'callTensorAsync beside eight busy Python threads',
  'fromDLPack(await callAsync) beside them',
]);
const [besideThreads, withImport] = [...withThreads] as [string, string];

const rows: Record<string, (() => Promise<unknown>) | null> = {
  'nothing, to compare with': null,
  'callAsync of a pure Python loop': () => py.callAsync(spin, 2_000_000),
  [besideThreads]: () => py.callTensorAsync(ones).then(released),
  [withImport]: async () => {
    using object = await py.callAsync(ones);
    released(fromDLPack(object));
  },
  "astypeAsync('float64') of 64 MiB": () => large.astypeAsync('float64').then(released),
  'copyAsync of 64 MiB': () => large.copyAsync().then(released),
};
if (device !== null) {
  rows["toAsync('cuda:0') of 64 MiB"] = () => large.toAsync('cuda:0').then(released);
}

/** How late each timer was, and how long each start of an operation took. */
async function measure(start: (() => Promise<unknown>) | null): Promise<{ late: number[]; starts: number[] }> {
  const late: number[] = [];
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
    const due = performance.now() + 1;
    await new Promise((resolve) => setTimeout(resolve, 1));
    late.push(Math.max(0, performance.now() - due));
  }
  await Promise.all(busy);
  return { late, starts };
}

const results: Record<string, { late: number[]; starts: number[] }> = {};
for (const [name, start] of Object.entries(rows)) {
  const busy = withThreads.has(name) ? await py.callAsync(Busy, 8) : null;
  results[name] = await measure(start);
  if (busy !== null) await py.callAsync(busy.stop);
}
console.log(JSON.stringify(results));
