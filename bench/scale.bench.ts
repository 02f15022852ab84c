/**
 * What one driver can feed: a Ray cluster of two to eight nodes on this machine, beside what the costs of one node predict.
 *
 *   npm run test:cluster -- none; npm run bench -- scale
 */

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { env, python, root } from './cluster-python.js';
import { describeMachine } from './machine.js';

/** What drivers/scale.ts prints for a cluster of so many nodes. */
interface Measured {
  /** Tasks a second that do nothing: the most that this driver can start and finish. */
  readonly ceiling: number;
  /** Tasks a second for each duration, in milliseconds. */
  readonly rates: Record<string, number>;
  /** Memory of a worker that no other process shares, in MiB. */
  readonly memory: { readonly python: number; readonly javascript: number };
  /** Processor seconds that the start of a worker takes. */
  readonly start: { readonly python: number; readonly javascript: number };
}

const NODES = [1, 2, 4, 8];
const CPUS = 2;
const driver = fileURLToPath(new URL('./drivers/scale.js', import.meta.url));
const measured = new Map<number, Measured>();
for (const nodes of NODES) {
  const output = execFileSync(process.execPath, [driver, String(nodes), String(CPUS)], {
    env,
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  measured.set(nodes, JSON.parse(output.trim().split('\n').at(-1) as string));
}

const one = measured.get(1) as Measured;
const durations = Object.keys(one.rates).map(Number);
/** The time that a CPU needs between two tasks, in milliseconds, from one node. */
const gap = (duration: number): number => (CPUS * 1000) / (one.rates[duration] as number) - duration;
const predict = (nodes: number, duration: number): number =>
  Math.min((nodes * CPUS * 1000) / (duration + gap(duration)), one.ceiling);

const rows = NODES.slice(1).flatMap((nodes) =>
  durations.map((duration) => {
    const found = (measured.get(nodes) as Measured).rates[duration] as number;
    const said = predict(nodes, duration);
    return `| ${nodes} | ${duration} ms | ${said.toFixed(0)} | ${found.toFixed(0)} | ${(found / said).toFixed(2)} |`;
  }),
);
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const ray = execFileSync(python, ['-c', 'import ray; print(ray.__version__)'], { encoding: 'utf8' }).trim();
const report = `# A growing cluster

Date ${new Date().toISOString().slice(0, 10)}; \`npm run bench -- scale\`; ${describeMachine()}, load ${(loadavg()[0] as number).toFixed(1)}; dlpack ${version}, Node ${process.versions.node}, Ray ${ray}.

Nodes of a Ray cluster on one machine, each with ${CPUS} CPUs. Tasks sleep, so that they need no processor. One Node process submits
them, twice as many at a time as there are CPUs, and awaits each result.

One driver starts and finishes ${one.ceiling.toFixed(0)} tasks a second that do nothing (one node). Between two tasks a CPU waits for
${durations.map((duration) => `${gap(duration).toFixed(1)} ms (tasks of ${duration} ms)`).join(', ')}.

The prediction for n nodes is the smaller of n × ${CPUS} CPUs / (duration + wait) and the rate of the driver.

| nodes | task | predicted, tasks a second | measured | measured / predicted |
|---|---|---|---|---|
${rows.join('\n')}

| a worker | Python | JavaScript |
|---|---|---|
| memory of its own, MiB | ${one.memory.python.toFixed(0)} | ${one.memory.javascript.toFixed(0)} |
| processor seconds of its start | ${one.start.python.toFixed(2)} | ${one.start.javascript.toFixed(2)} |
`;
writeFileSync(join(root, 'bench/results/scale.md'), report);
console.log(report);
