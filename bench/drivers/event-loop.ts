/**
 * The delay of the event loop while work runs on other threads: prints the delays in milliseconds as JSON. A timer of
 * one millisecond is late by the time in which the loop could not run.
 */

import { Tensor } from 'dlpack';
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
const large = Tensor.zeros([16 * 2 ** 20], 'float32').fill(1);
const released = (tensor: Tensor): void => tensor.dispose();

let device: string | null = null;
try {
  device = devices().length > 0 ? 'cuda:0' : null;
} catch {
  // There is no driver.
}

const rows: Record<string, (() => Promise<unknown>) | null> = {
  'nothing, to compare with': null,
  'callAsync of a pure Python loop': () => py.callAsync(spin, 2_000_000),
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
for (const [name, start] of Object.entries(rows)) results[name] = await measure(start);
console.log(JSON.stringify(results));
