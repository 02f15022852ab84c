/**
 * Tasks and actors on one machine while worker processes are killed at random: every task that Ray promises to run again
 * ends with the right result. `--seconds n` sets how long it runs, and `--report path` where the figures go.
 */

import { writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { Tensor } from 'dlpack';
import { liveCounts } from 'dlpack/debug';
import { actor, get, putSync, remote, shutdown, task } from 'dlpack/ray';
import { py, start } from './available.js';
import type * as workers from './workers.js';

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '60' }, report: { type: 'string' } } });
const seconds = Number(values.seconds);
const module = new URL('./workers.js', import.meta.url);
const always = { maxRetries: -1 } as const;

await start();
py.exec(`
import os, random, signal, time, psutil
def halve(x): return x * 0.5
def find_workers():
    """The processes that run tasks and actors. Ray starts them as children of its raylet. Young ones are left out, because Ray
    gives up a task or an actor whose process ends several times while it starts."""
    mine = psutil.Process()
    found = []
    for process in mine.children(recursive=True):
        try:
            line = ' '.join(process.cmdline())
            is_old = time.time() - process.create_time() > 30
        except psutil.Error:
            continue
        if is_old and 'raylet' not in process.name() and 'Agent' not in line and ('ray::' in line or 'ray-worker' in line):
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
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

async function lose(error: unknown): Promise<void> {
  counts.lost++;
  const lines = String(error).trim().split('\n');
  const text = [...new Set([lines[0], lines.at(-1)])].join(' … ');
  errors.set(text, (errors.get(text) ?? 0) + 1);
  await pause(1000); // what fails at once would fail many thousand times
}

/** A tensor through two tasks, one in each language, and back. */
async function runTasks(seed: number): Promise<void> {
  const x = Tensor.empty([2 ** 15], 'float32');
  for (let i = seed; Date.now() < end; i++) {
    try {
      x.fill(i % 1000);
      const first = putSync(x);
      const middle = twice.remoteSync(first);
      const last = halve.remoteSync(middle);
      const y = await get(last);
      if (y.get(77) !== i % 1000) counts.wrong++;
      counts.tasks += 2;
      y.dispose();
      for (const ref of [first, middle, last]) ref[Symbol.dispose]();
      await pause(20);
    } catch (error) {
      await lose(error);
    }
  }
  x.dispose();
}

async function callActor(): Promise<void> {
  while (Date.now() < end) {
    try {
      const ref = await counter.echo.remote('text', [1]);
      const [text] = (await get(ref)) as [string];
      if (text !== 'text') counts.wrong++;
      counts.calls++;
      ref[Symbol.dispose]();
      await pause(20);
    } catch (error) {
      await lose(error);
    }
  }
}

interface Row {
  seconds: number;
  tasks: number;
  calls: number;
  killed: number;
  rss: number;
  load: number;
}
const rows: Row[] = [];
async function killWorkers(): Promise<void> {
  const start = Date.now();
  while (Date.now() < end) {
    await pause(10_000 + Math.random() * 10_000);
    if ((await py.callAsync(py.eval('kill_one'))) !== 0) counts.killed++;
    rows.push({
      seconds: Math.round((Date.now() - start) / 1000),
      ...counts,
      rss: Math.round(process.memoryUsage.rss() / 2 ** 20),
      load: loadavg()[0] as number,
    });
  }
}

await Promise.all([...[0, 100, 200, 300].map(runTasks), callActor(), killWorkers()]);
await shutdown();
const { storages, imports, exports } = liveCounts();
const line =
  `${counts.tasks} tasks and ${counts.calls} calls of an actor in ${(seconds / 60).toFixed(0)} minutes, while ` +
  `${counts.killed} of their processes were killed: ${counts.wrong} wrong results, ${counts.lost} lost. ` +
  `Left behind: ${storages} storages, ${imports} imports, ${exports} exports.`;
console.log(line);
for (const [text, count] of errors) console.log(`${count} × ${text}`);
if (values.report !== undefined) {
  const { version } = py.import('sys') as { version: string };
  const intro =
    `# Soak: Ray\n\n\`npm run soak -- ray --minutes ${Math.round(seconds / 60)}\`, ` +
    `${new Date().toISOString().slice(0, 10)}, Node ${process.versions.node}, Ray ${py.import('ray').__version__}, ` +
    `Python ${version.split(' ')[0]}, Linux.\n\n` +
    'Four loops send a tensor of 128 KiB through a JavaScript task and a Python task and check the result, and a fifth calls ' +
    'a JavaScript actor. Every 10 to 20 seconds a process of a task or of the actor is killed with SIGKILL, if one is ' +
    'older than 30 seconds. Ray promises to run tasks again, and to start the actor again and repeat its calls.';
  const head =
    '| seconds | tasks | actor calls | killed | RSS MiB of the program | load of the machine |\n|---|---|---|---|---|---|';
  const shown = rows.filter((_, i) => i % Math.ceil(rows.length / 24) === 0 || i === rows.length - 1);
  const table = shown.map(
    (row) => `| ${row.seconds} | ${row.tasks} | ${row.calls} | ${row.killed} | ${row.rss} | ${row.load.toFixed(1)} |`,
  );
  const lost = [...errors].map(([text, count]) => `- ${count} × ${text}\n`).join('');
  writeFileSync(values.report, `${intro}\n\n${line}\n${lost}\n${head}\n${table.join('\n')}\n`);
}
process.exit(counts.wrong + counts.lost === 0 && counts.tasks > 0 && (counts.killed > 0 || seconds < 60) ? 0 : 1);
