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
import { availableParallelism, loadavg, tmpdir } from 'node:os';
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
  /** Of matrices, in the model of the first rows. */
  readonly products: number;
}
/** The unit, and the limit: the largest value, or the least factor by which the other side takes longer. */
const rows: Record<string, { text: string; most?: number; factor?: number }> = {
  run: { text: 'one run of that model alone, ms' },
  gap: { text: 'longest gap of a timer of 1 ms during 32 runs at once, ms', most: 10 },
  stat: { text: '`fs.stat` beside 16 runs, ms', most: 50 },
  large: { text: 'output of 64 MiB, one thread, ms', factor: 5 },
  largeOnAll: { text: 'output of 64 MiB, as many threads as ONNX Runtime takes by itself, ms', factor: 5 },
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
/** Two convolutions over images of 64 by 64, with `a` and `b` channels. */
const modelOf = (a: number, b: number) =>
  makeGraph({
    nodes: [
      { op: 'Conv', inputs: ['x', 'a'], outputs: ['p'], attributes: { pads: [1, 1, 1, 1] } },
      { op: 'Relu', inputs: ['p'], outputs: ['q'] },
      { op: 'Conv', inputs: ['q', 'b'], outputs: ['r'], attributes: { pads: [1, 1, 1, 1], strides: [2, 2] } },
      { op: 'GlobalAveragePool', inputs: ['r'], outputs: ['s'] },
      { op: 'Flatten', inputs: ['s'], outputs: ['y'] },
    ],
    inputs: { x: { tensor: 1, shape: ['n', 3, 64, 64] } },
    outputs: { y: { tensor: 1, shape: ['n', b] } },
    constants: { a: weights([a, 3, 3, 3]), b: weights([b, a, 3, 3]) },
  });
const smallModel = 'a small model, two convolutions with 16 and 32 channels';
const largeModel = 'a larger model, with 128 and 256 channels, which takes some milliseconds for an image';
const models: Record<string, Uint8Array> = { [smallModel]: modelOf(16, 32), [largeModel]: modelOf(128, 256) };

interface Server {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Record<string, string>;
}

/** Requests in a second, and the 99th percentile of their milliseconds. */
async function measureServer({ command, args, env = {} }: Server, image: Buffer): Promise<[number, number]> {
  const { child, url } = await start(command, args, root, { ...process.env, ...env });
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
const sharp = createRequire(join(root, '.libraries/package.json'))('sharp');
/** A JPEG with gradients and noise, which has about as many bytes as a photo of this size. */
const jpegOf = (width: number, height: number): Promise<Buffer> => {
  let seed = 1;
  const bytes = Uint8Array.from({ length: width * height * 3 }, (_, i) => {
    seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
    const [x, y] = [Math.floor(i / 3) % width, Math.floor(i / 3 / width)];
    return 128 + 80 * Math.sin(x / 17 + (i % 3)) * Math.cos(y / 23) + ((seed >> 16) % 24);
  });
  const raw = { width, height, channels: 3 };
  return sharp(bytes, { raw }).jpeg({ quality: 85 }).toBuffer();
};
const small = await jpegOf(320, 240);
const photo = await jpegOf(1280, 960);
/** DLPACK_PYTHON names a Python with onnxruntime and FastAPI on a machine without the project's own. */
const python = process.env.DLPACK_PYTHON ?? join(root, '.venv-onnxruntime/bin/python');
const driver = fileURLToPath(new URL('./drivers/onnxruntime-server.js', import.meta.url));
/** sharp decodes on the threads of libuv, of which there are four otherwise. */
const env = { UV_THREADPOOL_SIZE: String(availableParallelism()) };
const serversOf = (path: string): readonly Server[] => [
  { name: 'the example server', command: process.execPath, args: [driver, 'ours', path], env },
  { name: 'the same on onnxruntime-node', command: process.execPath, args: [driver, 'theirs', path], env },
  ...(existsSync(python)
    ? [
        {
          name: 'FastAPI with onnxruntime',
          command: python,
          args: [join(root, 'bench/drivers/onnxruntime_server.py'), path],
        },
      ]
    : []),
];
const cases: readonly (readonly [model: string, image: Buffer, text: string])[] = [
  [smallModel, photo, 'photos of 1280 by 960'],
  [largeModel, photo, 'photos of 1280 by 960'],
  [smallModel, small, 'images of 320 by 240'],
];
const measured = cases.map(([model, image, text], at) => {
  const path = join(folder, `${at}.onnx`);
  writeFileSync(path, models[model] as Uint8Array);
  const title = `${text} (${Math.round(image.length / 1024)} KB) and ${model}`;
  return { title, image, servers: serversOf(path).map((server) => ({ server, figures: [] as [number, number][] })) };
});
// By turns, because other work on the machine comes and goes.
for (let i = 0; i < RUNS; i++) {
  for (const { image, servers } of measured) {
    for (const { server, figures } of servers) figures.push(await measureServer(server, image));
  }
}
rmSync(folder, { recursive: true });

const serverTables = measured.map(({ title, servers }) => {
  const results = servers.map(({ server, figures }) => ({
    name: server.name,
    rate: median(figures.map(([rate]) => rate)),
    late: median(figures.map(([, late]) => late)),
  }));
  const [own, ...others] = results;
  const isBest = others.every(({ rate, late }) => own !== undefined && own.rate > rate && own.late < late);
  const lines = results.map(({ name, rate, late }) => `| ${name} | ${shown(rate)} | ${shown(late, 1)} |`);
  return `With ${title}, the limit ${isBest ? 'holds' : '**does not hold**'}:

| server | requests a second | 99th percentile, ms |
|---|---|---|
${lines.join('\n')}
`;
});

const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
const report = `# ONNX Runtime

Date ${new Date().toISOString().slice(0, 10)}; \`npm run bench -- onnxruntime --rounds ${RUNS}\`; ${describeMachine()}, load ${(loadavg()[0] as number).toFixed(1)}; dlpack ${version}, ONNX Runtime ${answers[0]?.version}, Node ${process.versions.node}.

Both sides run in one process, on the same library, with one thread for a run where a row says nothing else. The model of the first
rows multiplies matrices of 256 by 256 ${median(answers.map(({ products }) => products))} times, so that one run takes about 40 ms. Figures are medians over ${RUNS} processes. The
last columns are the limit that this project has set itself: a value, or how many times longer the other side takes.
A loop in C over \`Run\` with a new input and a new output is the least that \`runSync\` can take: 1.16 µs on an AMD EPYC, where a run
of onnxruntime-node takes 5.1 µs and \`runSync\` 2.1 µs.

| | \`dlpack/onnxruntime\` | onnxruntime-node | limit | holds |
|---|---|---|---|---|
${lines.join('\n')}

## The example server

${CONNECTIONS} connections send a JPEG for ${SECONDS} seconds; the client runs on the same machine. Figures are medians over ${RUNS} starts.
Both Node servers have \`UV_THREADPOOL_SIZE=${env.UV_THREADPOOL_SIZE}\`, the number of cores, for sharp. FastAPI has one worker and runs requests on up
to 40 threads. All three decode a JPEG at a smaller scale and then resize it to 64 by 64, with sharp or with Pillow (\`draft\`). sharp
needs about a millisecond for any image, for setting up its operations. A run of a model has one thread everywhere. The limit is more requests and a lower 99th percentile than both others.

${serverTables.join('\n')}`;
writeFileSync(`${root}bench/results/onnxruntime.md`, report);
console.log(report);
