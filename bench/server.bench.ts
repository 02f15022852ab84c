/**
 * An inference server with a model in the process, beside servers with the model in Python processes: the same model, the
 * same images of 150 KB, fifty connections, in rounds by turns.
 *
 *   npm run bench -- server
 *   npm run bench -- server --rounds 2   # a round takes about 80 seconds
 */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { describeMachine } from './machine.js';
import { median, roundsOf, runDriver, shown } from './runs.js';

const ROUNDS = roundsOf(5);
/** Shorter ones show only that the benchmark works. */
const SECONDS = Number(process.env.SERVER_SECONDS ?? 10);

const root = fileURLToPath(new URL('../../', import.meta.url));
const scripts = join(root, 'bench/drivers');
const python = join(root, '.venv/bin/python');
const built = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'dlpack-server-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

const preload = ['--import', pathToFileURL(built('./drivers/server-delay.js')).href];
const node = (script: string, ...args: string[]) => [process.execPath, ...preload, built(script), ...args];
const fastapi = (workers: number) => [python, join(scripts, 'server_fastapi.py'), 'PORT', String(workers)];
const ours = node('../examples/python-server/torch.js');
const pipe = node('./drivers/server-pipe.js', python, scripts);

/** The command of each server, and its environment. */
const servers: Record<string, { command: string[]; env?: Record<string, string> }> = {
  'dlpack, one image at a time': { command: ours, env: { SIZE: '1' } },
  'dlpack, batches of up to 16': { command: ours },
  'FastAPI, one worker': { command: fastapi(1) },
  'FastAPI, two workers': { command: fastapi(2) },
  'Node and two Python processes over pipes': { command: pipe },
};

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

async function round(name: string): Promise<Round> {
  const { command, env = {} } = servers[name] as (typeof servers)[string];
  const at = ++port;
  const [program, ...args] = command.map((part) => (part === 'PORT' ? String(at) : part)) as [string, ...string[]];
  const file = join(folder, `${at}.json`);
  const server: ChildProcess = spawn(program, args, {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, PYTHONPATH: join(root, 'build/fastapi'), PORT: String(at), DELAY_FILE: file, ...env },
  });
  const isNode = program === process.execPath;
  try {
    while (!(await isUp(at))) {
      if (server.exitCode !== null) throw new Error(`${name} ended with ${server.exitCode}`);
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

const rounds = new Map<string, Round[]>(Object.keys(servers).map((name) => [name, []]));
for (let i = 0; i < ROUNDS; i++) {
  for (const [name, list] of rounds) {
    list.push(await round(name));
    console.log(`round ${i + 1} of ${ROUNDS}: ${name}`);
  }
}
const over = (name: string, read: (one: Round) => number | undefined): number =>
  median((rounds.get(name) ?? []).map((one) => read(one) ?? Number.NaN));
const rows = [...rounds.keys()].map((name) => {
  const cells = [
    shown(over(name, ({ rate }) => rate)),
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

const [single, batched, one, two, pipes] = [...rounds.keys()] as [string, string, string, string, string];
const ratio = (own: string, other: string): number =>
  median((rounds.get(own) ?? []).map(({ rate }, i) => rate / ((rounds.get(other) ?? [])[i]?.rate ?? Number.NaN)));
const calls = runDriver<{ ours: number[]; theirs: number[] }>('server-call', Math.min(3, ROUNDS), python, scripts);
const call = median(calls.map(({ ours: own, theirs }) => median(theirs) / median(own)));
const goals: [string, number, number][] = [
  ['requests a second: one image at a time, against FastAPI with one worker', ratio(single, one), 1.25],
  ['against FastAPI with two workers', ratio(single, two), 1.1],
  ['against Node with Python over pipes', ratio(single, pipes), 1.1],
  ['batches, against the best of these', Math.min(ratio(batched, one), ratio(batched, two), ratio(batched, pipes)), 2],
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

Each server answers images of 224 × 224 × 3 bytes with the scores of the same PyTorch model, which uses one thread for each call.
Fifty connections send requests for ${SECONDS} seconds, in ${ROUNDS} rounds of all servers by turns. Figures are medians over the rounds: answers
in a second, latency in milliseconds, the delay of Node's event loop in milliseconds, and the memory of all processes of the server
in MB.

| server | answers a second | median | 99 % | loop, 99 % | loop, longest | memory |
|---|---|---|---|---|---|---|
${rows.join('\n')}

| how many times as much | measured | goal | holds |
|---|---|---|---|
${goals.map(([name, value, goal]) => `| ${name} | ${shown(value, 2)} | ${goal} | ${value >= goal ? 'yes' : '**no**'} |`).join('\n')}

| delay of the event loop at 99 %, ms | measured | at most | holds |
|---|---|---|---|
${delays.join('\n')}
`;
// A run of less than half a minute is no measurement.
if (ROUNDS * SECONDS >= 30) writeFileSync(`${root}bench/results/server.md`, report);
console.log(report);
