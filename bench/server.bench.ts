/**
 * An inference server with a model in the process, beside servers with the model in Python processes: the same model, the
 * same images of 150 KB, fifty connections, in rounds by turns.
 *
 *   npm run bench -- server
 *   npm run bench -- server --rounds 3   # a round takes about four minutes
 *   SERVER_SECONDS=5 npm run bench -- server
 */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { describeMachine } from './machine.js';
import { median, roundsOf, runDriver, shown } from './runs.js';

const ROUNDS = roundsOf(5);
const SECONDS = Number(process.env.SERVER_SECONDS ?? 10);

const root = fileURLToPath(new URL('../../', import.meta.url));
const scripts = join(root, 'bench/drivers');
/** DLPACK_PYTHON names a Python with PyTorch and FastAPI on a machine without the project's own. */
const python = process.env.DLPACK_PYTHON ?? join(root, '.venv/bin/python');
const built = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'dlpack-server-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

const preload = ['--import', pathToFileURL(built('./drivers/server-delay.js')).href];
const node = (script: string, ...args: string[]) => [process.execPath, ...preload, built(script), ...args];
const fastapi = (workers: number) => [python, join(scripts, 'server_fastapi.py'), 'PORT', String(workers)];
const ours = node('../examples/python-server/torch.js');
const pipe = (children: number) => node('./drivers/server-pipe.js', python, scripts, String(children));

interface Server {
  readonly command: readonly string[];
  readonly env?: Record<string, string>;
}
const servers = {
  'dlpack, one image at a time': { command: ours, env: { SIZE: '1' } },
  'dlpack, batches of up to 16': { command: ours },
  'FastAPI, one worker': { command: fastapi(1) },
  'FastAPI, two workers': { command: fastapi(2) },
  'Node and a Python child over a pipe': { command: pipe(1) },
  'Node and two Python children over pipes': { command: pipe(2) },
} as const satisfies Record<string, Server>;
type Name = keyof typeof servers;
const names = Object.keys(servers) as Name[];

interface Round {
  readonly rate: number;
  readonly p50: number;
  readonly p99: number;
  /** Of the event loop, at the 99th percentile and the longest; only of Node. */
  readonly delay?: { readonly p99: number; readonly longest: number };
  /** Of all processes of the server, in MB. */
  readonly memory: number;
}

let port = 9300;
const path = [join(root, 'build/fastapi'), process.env.PYTHONPATH].filter(Boolean).join(delimiter);

async function isUp(at: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${at}/health`).then(
    (response) => response.ok,
    () => false,
  );
}

/** The resident memory of a process and its children. */
function memoryOf(pid: number): number {
  const status = `/proc/${pid}/status`;
  const own = existsSync(status) ? Number(/VmRSS:\s+(\d+)/.exec(readFileSync(status, 'utf8'))?.[1] ?? 0) / 1024 : 0;
  const list = `/proc/${pid}/task/${pid}/children`;
  const children = existsSync(list) ? readFileSync(list, 'utf8').split(' ').filter(Boolean).map(Number) : [];
  return children.reduce((sum, child) => sum + memoryOf(child), own);
}

/** Starts a server, measures it, and ends it. */
async function round({ command, env = {} }: Server): Promise<Round> {
  const at = ++port;
  const [program, ...args] = command.map((part) => (part === 'PORT' ? String(at) : part)) as [string, ...string[]];
  const file = join(folder, `${at}.json`);
  const server: ChildProcess = spawn(program, args, {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, PYTHONPATH: path, PORT: String(at), DELAY_FILE: file, ...env },
  });
  const isNode = program === process.execPath;
  try {
    while (!(await isUp(at))) {
      if (server.exitCode !== null) throw new Error(`${command.join(' ')} ended with ${server.exitCode}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    if (isNode) server.kill('SIGUSR2');
    const load = built('./drivers/server-load.js');
    const output = execFileSync(process.execPath, [load, String(at), String(SECONDS)], {
      encoding: 'utf8',
      maxBuffer: 2 ** 26,
    });
    const { latencies, seconds } = JSON.parse(output) as { latencies: number[]; seconds: number };
    latencies.sort((a, b) => a - b);
    const memory = memoryOf(server.pid as number);
    server.kill('SIGTERM');
    await once(server, 'exit');
    const at99 = latencies[Math.floor(latencies.length * 0.99)] as number;
    return {
      rate: latencies.length / seconds,
      p50: median(latencies),
      p99: at99,
      memory,
      ...(isNode && { delay: JSON.parse(readFileSync(file, 'utf8')) }),
    };
  } finally {
    if (server.exitCode === null && server.signalCode === null) server.kill('SIGKILL');
  }
}

const rounds = new Map(names.map((name): [Name, Round[]] => [name, []]));
for (let i = 0; i < ROUNDS; i++) {
  for (const [name, list] of rounds) {
    list.push(await round(servers[name]));
    console.log(`round ${i + 1} of ${ROUNDS}: ${name}`);
  }
}
const over = (name: Name, read: (one: Round) => number | undefined): number =>
  median((rounds.get(name) ?? []).map((one) => read(one) ?? Number.NaN));
const ratesOf = (name: Name): number[] => (rounds.get(name) ?? []).map(({ rate }) => rate);
const rows = names.map((name) => {
  const cells = [
    shown(over(name, ({ rate }) => rate)),
    `${shown(Math.min(...ratesOf(name)))} to ${shown(Math.max(...ratesOf(name)))}`,
    shown(over(name, ({ p50 }) => p50)),
    shown(over(name, ({ p99 }) => p99)),
    shown(
      over(name, ({ delay }) => delay?.p99),
      1,
    ),
    shown(
      over(name, ({ delay }) => delay?.longest),
      1,
    ),
    shown(over(name, ({ memory }) => memory)),
  ];
  return `| ${name} | ${cells.join(' | ')} |`;
});

/** One image at a time, by the number of calls of the model at once. */
const AT_ONCE = [1, 2, 4, 8, 16];
const sweep: string[] = [];
for (const count of AT_ONCE) {
  const one = await round({ command: ours, env: { SIZE: '1', CONCURRENCY: String(count) } });
  sweep.push(`| ${count} | ${shown(one.rate)} | ${shown(one.p50)} | ${shown(one.p99)} |`);
}

const [single, batched, one, two, child] = names as [Name, Name, Name, Name, Name];
const ratio = (own: Name, other: Name): number =>
  median(ratesOf(own).map((rate, i) => rate / (ratesOf(other)[i] ?? Number.NaN)));
const calls = runDriver<{ ours: number[]; theirs: number[] }>('server-call', Math.min(3, ROUNDS), {
  args: [python, scripts],
});
const call = median(calls.map(({ ours: own, theirs }) => median(theirs) / median(own)));
const goals: [string, number, number][] = [
  ['one image at a time, against FastAPI with one worker', ratio(single, one), 1.25],
  ['one image at a time, against FastAPI with two workers', ratio(single, two), 1.1],
  ['one image at a time, against Node with a Python child', ratio(single, child), 1.1],
  ...[one, two, child].map((other): [string, number, number] => [
    `batches, against ${other}`,
    ratio(batched, other),
    2,
  ]),
  ['the time of one call with 24.9 MB: over a pipe, against in the process', call, 15],
];
/** Milliseconds. */
const LONGEST_DELAY = 12;
const delays = [single, batched].map((name) => {
  const value = over(name, ({ delay }) => delay?.p99);
  return `| ${name} | ${shown(value, 1)} | ${LONGEST_DELAY} | ${value <= LONGEST_DELAY ? 'yes' : '**no**'} |`;
});

const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
const report = `# An inference server

Date ${new Date().toISOString().slice(0, 10)}; \`npm run bench -- server --rounds ${ROUNDS}\`; ${describeMachine()}, load ${(loadavg()[0] as number).toFixed(1)}; dlpack ${version}, Node ${process.versions.node}.

Each request is one raw image of 224 × 224 × 3 bytes, 150 KB, and the answer is the scores of a PyTorch model with two
convolutions, which uses one thread for each call. Nothing is decoded. Fifty connections send requests for ${SECONDS} seconds, in ${ROUNDS} rounds of all servers by turns. The
client runs on the same machine. FastAPI and the children run each image alone. Figures are medians over the rounds: answers in a
second, latency in milliseconds, the delay of Node's event loop in milliseconds, and the memory of all processes of the server in MB.
In some rounds one of FastAPI's two workers takes all connections, and they are as fast as one.

| server | answers a second | all rounds | median | 99 % | loop, 99 % | loop, longest | memory |
|---|---|---|---|---|---|---|---|
${rows.join('\n')}

One image at a time, by the number of calls of the model at once (\`CONCURRENCY\`), one round of each:

| at once | answers a second | median | 99 % |
|---|---|---|---|
${sweep.join('\n')}

| how many times as many answers a second | measured | goal | holds |
|---|---|---|---|
${goals.map(([name, value, goal]) => `| ${name} | ${shown(value, 2)} | ${goal} | ${value >= goal ? 'yes' : '**no**'} |`).join('\n')}

| delay of the event loop at 99 %, ms | measured | at most | holds |
|---|---|---|---|
${delays.join('\n')}
`;
// A shorter run shows only that the benchmark works.
if (ROUNDS >= 3 && SECONDS >= 5) writeFileSync(`${root}bench/results/server.md`, report);
console.log(report);
