/**
 * Runs one scenario in its own process, with every allocation of the addon failing once: `run.js core [--from n] [--every n]`. Each
 * attempt is a worker, so that the addon has allocated nothing for its thread before. DLPACK_ADDON names the addon,
 * which must be built with addon/allocations.cc.
 */

import { createRequire } from 'node:module';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { emptyCache, liveCounts } from 'dlpack/debug';
import { collect } from '../harness.js';
import { scenarios } from './scenarios.js';
import type { Report } from './worker.js';

interface Control {
  open(path: string): boolean;
  failAt(request: number): void;
  requests(): number;
  failures(): number;
  live(): number;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { from: { type: 'string', default: '1' }, every: { type: 'string', default: '1' } },
});
const [scenario = ''] = positionals;
if (!(scenario in scenarios)) throw new Error(`Expected one of ${Object.keys(scenarios)} but received ${scenario}`);
const control = createRequire(import.meta.url)('../../native/faults/control.node') as Control;
if (!control.open(process.env.DLPACK_ADDON ?? '')) throw new Error('DLPACK_ADDON is not built with allocations.cc');

const { storages, bytes, imports, exports, tickets, pins } = liveCounts();
const baseline = JSON.stringify({ storages, bytes, imports, exports, tickets, pins });

/** Runs the scenario in a new worker whose nth request fails. */
async function attempt(request: number): Promise<Report> {
  control.failAt(request);
  const worker = new Worker(new URL('./worker.js', import.meta.url), { workerData: { scenario, baseline } });
  let report: Report | null = null;
  await new Promise<void>((resolve, reject) => {
    worker.once('message', (message: Report) => {
      report = message;
    });
    worker.once('error', reject);
    worker.once('exit', () => resolve());
  });
  if (report === null) throw new Error('the worker ended without a report');
  return report;
}

/** Waits until no more than `blocks` are live: threads of the addon may still be freeing theirs. */
async function settle(blocks: number): Promise<number> {
  emptyCache('cpu');
  const start = Date.now();
  while (control.live() > blocks && Date.now() - start < 60_000) await collect();
  return control.live();
}

/** Blocks that an instance leaves behind: its release queue, and its channel to Python. Both outlive it on purpose. */
const keptPerInstance = scenario === 'python' ? 2 : 1;

const problems: string[] = [];
// Memory that the process keeps for ever (the interpreter, tables of classes, the pool) is allocated after two runs without failures.
for (let i = 0; i < 2; i++) {
  const { untyped, left } = await attempt(0);
  problems.push(...untyped, ...(left === null ? [] : [left]));
}
const requests = control.requests();
let live = control.live();
for (let steady = 0; steady < 3; steady++) {
  emptyCache('cpu');
  await collect();
  if (control.live() < live) steady = 0;
  live = control.live();
}
let failures = 0;
for (let n = Number(values.from); problems.length === 0 || process.env.DLPACK_FAULTS_TRACE; n += Number(values.every)) {
  process.stderr.write(`${scenario}: request ${n}\n`);
  const { untyped, left } = await attempt(n);
  const hasFailed = control.failures() > 0;
  control.failAt(0);
  const now = await settle(live + keptPerInstance);
  problems.push(...untyped.map((text) => `request ${n}: ${text}`));
  if (left !== null) problems.push(`request ${n}: left ${left}`);
  if (now > live + keptPerInstance) problems.push(`request ${n}: ${now - live} blocks more than before`);
  live = now;
  if (!hasFailed) break;
  failures++;
}
console.log(
  problems.length > 0 ? problems.join('\n') : `${scenario}: ${failures} of ${requests} requests failed, no problem`,
);
process.exit(problems.length > 0 ? 1 : 0);
