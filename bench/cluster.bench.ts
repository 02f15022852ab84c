/**
 * Ray from Node beside Ray from Python, on one cluster of this machine.
 *
 *   npm run test:cluster -- none; npm run bench -- cluster
 */

import { execFileSync, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { env, python, root } from './cluster-python.js';
import { describeMachine } from './machine.js';
import { summarise } from './measure.js';

const ROUNDS = 3;

/** The cluster lives until its input ends. */
const cluster = spawn(
  python,
  [
    '-c',
    `
import sys
from ray.cluster_utils import Cluster
cluster = Cluster(initialize_head=True, head_node_args=dict(num_cpus=2, object_store_memory=3 * 2**30, include_dashboard=False))
print('ADDRESS', cluster.address, flush=True)
sys.stdin.read()
cluster.shutdown()
`,
  ],
  { env, stdio: ['pipe', 'pipe', 'inherit'] },
);
let address = '';
for await (const line of createInterface({ input: cluster.stdout })) {
  if (line.startsWith('ADDRESS ')) address = line.slice(8);
  if (address !== '') break;
}

type Samples = Record<string, number[]>;
const drivers = {
  node: [process.execPath, fileURLToPath(new URL('./drivers/cluster.js', import.meta.url))],
  python: [python, join(root, 'bench/drivers/cluster.py')],
} as const;
const measured: Record<keyof typeof drivers, Samples[]> = { node: [], python: [] };
try {
  for (let round = 0; round < ROUNDS; round++) {
    for (const name of ['python', 'node'] as const) {
      const [command, script] = drivers[name];
      const output = execFileSync(command, [script, address], { env, encoding: 'utf8', maxBuffer: 2 ** 26 });
      measured[name].push(JSON.parse(output.trim().split('\n').at(-1) as string));
    }
  }
} finally {
  cluster.stdin.end();
}

function samplesOf(samples: Samples, name: string): number[] {
  const found = samples[name];
  if (found === undefined) throw new Error(`A driver measured no "${name}"`);
  return found;
}

/** The median over the processes of each process's median. */
const value = (side: keyof typeof drivers, name: string): number =>
  summarise(measured[side].map((samples) => summarise(samplesOf(samples, name)).median)).median;

const rows: [name: string, node: string, peer: readonly [keyof typeof drivers, string], limit: number][] = [
  ['put 256 MiB', 'put 256 MiB', ['python', 'put 256 MiB'], 1.1],
  ['get 256 MiB', 'get 256 MiB', ['python', 'get 256 MiB'], 2],
  ['get 256 MiB with await', 'get 256 MiB, await', ['python', 'get 256 MiB'], Number.NaN],
  ['task round trip', 'task', ['python', 'task'], 1.2],
  ['task round trip with await', 'task, await', ['python', 'task'], Number.NaN],
  ['actor round trip', 'actor', ['python', 'actor'], 1.2],
  ['actor round trip with await', 'actor, await', ['python', 'actor'], Number.NaN],
  ['round trip to a JavaScript actor, beside a Python actor', 'JavaScript actor', ['python', 'actor'], 1.5],
  ['the same with await', 'JavaScript actor, await', ['python', 'actor'], Number.NaN],
];
const lines = rows.map(([name, key, [side, peer], limit]) => {
  const [ours, theirs] = [value('node', key), value(side, peer)];
  const ratio = ours / theirs;
  const verdict = Number.isNaN(limit) ? '' : `${limit}× ${ratio <= limit ? 'kept' : '**missed**'}`;
  return `| ${name} | ${ours.toFixed(3)} | ${theirs.toFixed(3)} | ${ratio.toFixed(2)}× | ${verdict} |`;
});
/** The programs with 1000 tasks: the tasks a second, beside Python's, and the delays of the event loop. */
const programs = [
  ['`get(await Promise.all(starts))`, one `get` for all', 'one get'],
  ['`Promise.all(xs.map(async (x) => get(await f.remote(x))))`, a `get` for each', 'a get for each'],
] as const;
/** The longest sample over all processes. */
const worst = (name: string): number => Math.max(...measured.node.flatMap((samples) => samplesOf(samples, name)));
const inFlight = programs.map(([name, key]) => {
  const [ours, theirs] = [
    1000 / value('node', `1000 tasks of 1 MiB, ${key}, seconds`),
    1000 / value('python', '1000 tasks of 1 MiB, seconds'),
  ];
  const share = ours / theirs;
  const longest = value('node', `longest delay of the event loop, ${key}`);
  return [
    name,
    ours.toFixed(0),
    theirs.toFixed(0),
    `${share.toFixed(2)}×`,
    share >= 0.9 ? 'kept' : '**missed**',
    `${longest.toFixed(1)} ms`,
    `${worst(`longest delay of the event loop, ${key}`).toFixed(1)} ms`,
    longest < 10 ? 'kept' : '**missed**',
    `${value('node', `99th percentile of the delay, ${key}`).toFixed(1)} ms`,
  ].join(' | ');
});
const delayed = worst('a call beside 200 waiting references');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const versions = execFileSync(
  python,
  ['-c', 'import ray, sys; print("Ray", ray.__version__, "Python", sys.version.split()[0])'],
  {
    encoding: 'utf8',
  },
).trim();
const report = `# Ray

Date ${new Date().toISOString().slice(0, 10)}; \`npm run bench -- cluster\`; ${describeMachine()}, load ${(loadavg()[0] as number).toFixed(1)}; dlpack ${version}, Node ${process.versions.node}, ${versions}.

Node and Python programs take turns on one cluster of this machine with two CPUs. Figures are milliseconds, medians of ${ROUNDS}
processes each. \`await\` marks \`get\`, which keeps the event loop free; the other rows use \`getSync\`, as Python's \`ray.get\` waits.

| operation | Node | Python | ratio | limit |
|---|---|---|---|---|
${lines.join('\n')}

A task made the object of \`get\`. Both programs drop each result before the next \`get\`, outside of the timed part, so that each
\`get\` asks the object store. Right after a \`put\`, Ray's client still holds the object, and a \`get\` does not ask the store.

\`get\` of 256 MiB: ${value('node', 'get 256 MiB').toFixed(3)} ms; the limit of 0.2 ms is ${value('node', 'get 256 MiB') <= 0.2 ? 'kept' : '**missed**'}.

A call of another Python function with \`callAsync\`: ${value('node', 'a call').toFixed(3)} ms, and ${value('node', 'a call beside 200 waiting references').toFixed(3)} ms while 200 promises of \`get\` wait; the longest of
${measured.node.length * 200} such calls took ${delayed.toFixed(1)} ms (limit 100 ms, ${delayed < 100 ? 'kept' : '**missed**'}).

## 1000 tasks with an argument of 1 MiB each, all in flight

Node starts them with \`remote\`, and Python with \`ray.get([f.remote(x) for x in xs])\`. Medians of ${2 * ROUNDS} runs in ${ROUNDS} processes.

| program | Node, tasks a second | Python | ratio | limit 0.9× | longest delay of the event loop | longest of all runs | limit 10 ms | 99th percentile |
|---|---|---|---|---|---|---|---|---|
${inFlight.map((row) => `| ${row} |`).join('\n')}
`;
writeFileSync(join(root, 'bench/results/cluster.md'), report);
console.log(report);
