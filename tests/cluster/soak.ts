/**
 * Tasks and actors on one machine while worker processes are killed at random: every task that Ray promises to run again
 * ends with the right result. `--seconds n` sets how long it runs, and `--report path` where the figures go.
 */

import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Tensor } from 'dlpack';
import { stats } from 'dlpack/native';
import { actor, get, init, put, remote, shutdown, task } from 'dlpack/ray';
import { py, small } from './available.js';
import type * as workers from './workers.js';

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '60' }, report: { type: 'string' } } });
const seconds = Number(values.seconds);
const module = new URL('./workers.js', import.meta.url);
const always = { maxRetries: -1 } as const;

await init(small);
py.exec(`
import os, random, signal, psutil
def halve(x): return x * 0.5
def find_workers():
    """The processes that run tasks and actors. Ray starts them as children of its raylet."""
    mine = psutil.Process()
    found = []
    for process in mine.children(recursive=True):
        try:
            line = ' '.join(process.cmdline())
        except psutil.Error:
            continue
        if 'raylet' not in process.name() and 'Agent' not in line and ('ray::' in line or 'ray-worker' in line):
            found.append(process.pid)
    return found
def kill_one():
    workers = find_workers()
    if not workers:
        return 0
    pid = random.choice(workers)
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return 0
    return pid
`);
const twice = task<typeof workers.twice>(module, 'twice', { ...always, numCpus: 0.5 });
const halve = remote<(x: Tensor<'float32'>) => Tensor<'float32'>>(py.eval('halve'), { ...always, numCpus: 0.5 });
const Counter = actor<typeof workers.Counter>(module, 'Counter', { numCpus: 0, maxRestarts: -1, maxTaskRetries: -1 });
const counter = await Counter.remote();

const counts = { tasks: 0, calls: 0, killed: 0, wrong: 0, lost: 0 };
const errors = new Map<string, number>();
const end = Date.now() + seconds * 1000;

function lose(error: unknown): void {
  counts.lost++;
  const text = String(error).split('\n')[0] as string;
  errors.set(text, (errors.get(text) ?? 0) + 1);
}

/** A tensor through two tasks, one in each language, and back. */
async function runTasks(seed: number): Promise<void> {
  const x = Tensor.empty([2 ** 15], 'float32');
  for (let i = seed; Date.now() < end; i++) {
    try {
      x.fill(i % 1000);
      const first = put(x);
      const middle = twice.remote(first);
      const last = halve.remote(middle);
      const y = await get(last);
      if (y.get(77) !== i % 1000) counts.wrong++;
      counts.tasks += 2;
      y.dispose();
      for (const ref of [first, middle, last]) ref[Symbol.dispose]();
      await new Promise((resolve) => setTimeout(resolve, 20));
    } catch (error) {
      lose(error);
    }
  }
  x.dispose();
}

async function callActor(): Promise<void> {
  while (Date.now() < end) {
    try {
      const ref = counter.echo.remote('text', [1]);
      const [text] = (await get(ref)) as [string];
      if (text !== 'text') counts.wrong++;
      counts.calls++;
      ref[Symbol.dispose]();
    } catch (error) {
      lose(error);
    }
  }
}

const memory: number[] = [];
async function killWorkers(): Promise<void> {
  while (Date.now() < end) {
    await new Promise((resolve) => setTimeout(resolve, 10_000 + Math.random() * 10_000));
    if ((await py.callAsync(py.eval('kill_one'))) !== 0) counts.killed++;
    memory.push(process.memoryUsage.rss() / 2 ** 20);
  }
}

await Promise.all([...[0, 100, 200, 300].map(runTasks), callActor(), killWorkers()]);
await shutdown();
const rss = (at: number) => (memory[Math.floor((memory.length - 1) * at)] ?? 0).toFixed(0);
const line = `${(seconds / 60).toFixed(0)} minutes: ${counts.tasks} tasks, ${counts.calls} actor calls, ${counts.killed} workers killed, ${counts.wrong} wrong results, ${counts.lost} lost; RSS of the program ${rss(0.1)} MiB after a tenth, ${rss(0.5)} in the middle, ${rss(1)} at the end; ${JSON.stringify(stats())}`;
console.log(line);
for (const [text, count] of errors) console.log(`${count} × ${text}`);
if (values.report !== undefined) writeFileSync(values.report, `${line}\n`);
process.exit(counts.wrong + counts.lost === 0 && counts.tasks > 0 ? 0 : 1);
