/**
 * dlpack/onnxruntime beside onnxruntime-node on the same library in the same process, and the example server beside the same
 * server on onnxruntime-node and beside FastAPI with onnxruntime.
 *
 *   npm run bench -- onnxruntime
 *   npm run bench -- onnxruntime --rounds 5   # a round takes about a minute
 */

import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { createRequire } from 'node:module';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeGraph } from '../tests/interop/libraries/model.js';
import { start } from '../tests/onnxruntime/server-project.js';
import { describeMachine } from './machine.js';
import { median, roundsOf, runDriver, shown } from './runs.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const RUNS = roundsOf(3);
const CONNECTIONS = 50;
const SECONDS = 5;

interface Answer {
  readonly rows: Record<string, { readonly ours: number; readonly theirs: number }>;
  readonly version: string;
}
/** The unit, and the limit: the largest value, or the least factor by which the other side takes longer. */
const rows: Record<string, { text: string; most?: number; factor?: number }> = {
  run: { text: 'one run of that model alone, ms' },
  gap: { text: 'longest gap of a timer of 1 ms during 32 runs at once, ms', most: 10 },
  stat: { text: '`fs.stat` beside 16 runs, ms', most: 50 },
  large: { text: 'output of 64 MiB, ms', factor: 5 },
  sync: { text: '1000 runs of a tiny model with `runSync`, ms; theirs with `await run`', factor: 6 },
  inFlight: { text: '1000 runs of a tiny model, 16 in flight, ms', factor: 2 },
  memory: { text: 'memory after 4 outputs of 64 MiB were held and released, MiB above the start', most: 8 },
};

const answers = runDriver<Answer>('onnxruntime', RUNS);
const lines = Object.entries(rows).map(([name, { text, most, factor }]) => {
  const ours = median(answers.map((answer) => answer.rows[name]?.ours ?? Number.NaN));
  const theirs = median(answers.map((answer) => answer.rows[name]?.theirs ?? Number.NaN));
  const ratio = median(answers.map(({ rows: all }) => (all[name]?.theirs ?? 0) / (all[name]?.ours ?? 1)));
  const limit = most !== undefined ? `at most ${most}` : factor !== undefined ? `${factor} x` : '';
  const holds = most !== undefined ? ours <= most : factor === undefined || ratio >= factor;
  const cells = [shown(ours, 1), shown(theirs, 1), limit, limit === '' ? '' : holds ? 'yes' : '**no**'];
  return `| ${text} | ${cells.join(' | ')} |`;
});

/** Weights that differ from each other. */
const weights = (shape: readonly number[]) => {
  const values = Float32Array.from({ length: shape.reduce((a, b) => a * b) }, (_, i) => Math.sin(i) / 8);
  return { type: 1, shape, bytes: new Uint8Array(values.buffer) };
};
/** Two convolutions over images of 64 by 64, to 32 scores. */
const model = makeGraph({
  nodes: [
    { op: 'Conv', inputs: ['x', 'a'], outputs: ['p'], attributes: { pads: [1, 1, 1, 1] } },
    { op: 'Relu', inputs: ['p'], outputs: ['q'] },
    { op: 'Conv', inputs: ['q', 'b'], outputs: ['r'], attributes: { pads: [1, 1, 1, 1], strides: [2, 2] } },
    { op: 'GlobalAveragePool', inputs: ['r'], outputs: ['s'] },
    { op: 'Flatten', inputs: ['s'], outputs: ['y'] },
  ],
  inputs: { x: { tensor: 1, shape: ['n', 3, 64, 64] } },
  outputs: { y: { tensor: 1, shape: ['n', 32] } },
  constants: { a: weights([16, 3, 3, 3]), b: weights([32, 16, 3, 3]) },
});

/** Requests in a second, and the 99th percentile of their milliseconds. */
async function measureServer(command: string, args: readonly string[], image: Buffer): Promise<[number, number]> {
  const { child, url } = await start(command, args, root);
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const times: number[] = [];
  const post = async () => {
    const began = performance.now();
    const sent = request(url, { method: 'POST', agent, headers: { 'content-length': image.length } });
    sent.end(image);
    const [response] = await once(sent, 'response');
    response.resume();
    await once(response, 'end');
    if (response.statusCode !== 200) throw new Error(`${url} answered ${response.statusCode}`);
    times.push(performance.now() - began);
  };
  const runFor = async (seconds: number) => {
    const end = performance.now() + seconds * 1000;
    const connection = async () => {
      while (performance.now() < end) await post();
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, connection));
  };
  try {
    await runFor(1);
    times.length = 0;
    const began = performance.now();
    await runFor(SECONDS);
    const rate = times.length / ((performance.now() - began) / 1000);
    return [rate, times.sort((a, b) => a - b)[Math.floor(times.length * 0.99)] as number];
  } finally {
    agent.destroy();
    const exit = once(child, 'exit');
    child.kill('SIGTERM');
    await exit;
  }
}

const folder = mkdtempSync(join(tmpdir(), 'dlpack-bench-'));
const path = join(folder, 'model.onnx');
writeFileSync(path, model);
const sharp = createRequire(join(root, '.libraries/package.json'))('sharp');
const image = await sharp({ create: { width: 320, height: 240, channels: 3, background: '#c86432' } })
  .jpeg()
  .toBuffer();
const python = join(root, '.venv-onnxruntime/bin/python');
const driver = fileURLToPath(new URL('./drivers/onnxruntime-server.js', import.meta.url));
const servers: readonly (readonly [name: string, command: string, args: readonly string[]])[] = [
  ['the example server', process.execPath, [driver, 'ours', path]],
  ['the same on onnxruntime-node', process.execPath, [driver, 'theirs', path]],
  ...(existsSync(python)
    ? [['FastAPI with onnxruntime', python, [join(root, 'bench/drivers/onnxruntime_server.py'), path]] as const]
    : []),
];
const figures = servers.map((): [number, number][] => []);
// By turns, because other work on the machine comes and goes.
for (let i = 0; i < RUNS; i++) {
  for (const [at, [, command, args]] of servers.entries()) {
    figures[at]?.push(await measureServer(command, args, image));
  }
}
const serverLines = servers.map(([name], at) => {
  const [rate, late] = [0, 1].map((i) => median((figures[at] ?? []).map((figure) => figure[i as 0 | 1])));
  return `| ${name} | ${shown(rate)} | ${shown(late, 1)} |`;
});
rmSync(folder, { recursive: true });

const [own, ...others] = figures.map((each) => [0, 1].map((i) => median(each.map((figure) => figure[i as 0 | 1]))));
const isBest = others.every(
  ([rate, late]) => (own?.[0] as number) > (rate as number) && (own?.[1] as number) < (late as number),
);
const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
const report = `# ONNX Runtime

Date ${new Date().toISOString().slice(0, 10)}; \`npm run bench -- onnxruntime --rounds ${RUNS}\`; ${describeMachine()}, load ${(loadavg()[0] as number).toFixed(1)}; dlpack ${version}, ONNX Runtime ${answers[0]?.version}, Node ${process.versions.node}.

Both sides run in one process, on the same library, with one thread for a run. The model of the first rows multiplies matrices of
256 by 256 thirty times. Figures are medians over ${RUNS} processes. The last columns are the limit that this project has set itself:
a value, or how many times longer the other side takes.

| | \`dlpack/onnxruntime\` | onnxruntime-node | limit | holds |
|---|---|---|---|---|
${lines.join('\n')}

## The example server

${CONNECTIONS} connections send an image of 320 by 240 for ${SECONDS} seconds. The model has two convolutions. The client runs on the
same machine. Figures are medians over ${RUNS} starts. The limit is more requests and a lower 99th percentile than both others: it
${isBest ? 'holds' : '**does not hold**'}.

| server | requests a second | 99th percentile, ms |
|---|---|---|
${serverLines.join('\n')}
`;
writeFileSync(`${root}bench/results/onnxruntime.md`, report);
console.log(report);
