/**
 * 4 MiB of float32 between Node and Python, by everything that people use: this package, the packages that run Python in the
 * process, Pyodide with and without this package, a child process with JSON, and HTTP to FastAPI. All in one run, each in a
 * process of its own, by turns. Then draws the chart of the README.
 *
 *   npm run bench -- alternatives
 */

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { describeMachine } from './machine.js';
import { summarise } from './measure.js';
import { ask, environment, install, type Peer, peers } from './peers.js';
import { roundsOf } from './runs.js';

/** One round shows only that the benchmark works. */
const ROUNDS = roundsOf(7);
const root = fileURLToPath(new URL('../../', import.meta.url));

/** The name in the table, and the driver with the arguments that measure it. */
interface Way {
  readonly title: string;
  readonly driver: 'alternatives' | 'python-peers';
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
}

const left: string[] = [];
const installed = (peer: Peer): Way[] => {
  const { folder, problem } = install(peer);
  const title = `${peer.name} ${peer.version}`;
  if (problem === null) return [{ title, driver: 'python-peers', args: [peer.name, folder], env: environment }];
  left.push(`${peer.name} ${peer.version}: \`${problem.trim()}\``);
  return [];
};
const python = `${root}.venv/bin/python`;
const scripts = `${root}bench/drivers`;
const ways: Way[] = [
  { title: 'dlpack', driver: 'python-peers', args: ['dlpack', ''], env: process.env },
  ...peers.flatMap(installed),
  { title: 'Pyodide with dlpack', driver: 'alternatives', args: ['pyodide-dlpack'], env: process.env },
  { title: 'Pyodide, toJs', driver: 'alternatives', args: ['pyodide'], env: process.env },
  { title: 'child process with JSON', driver: 'alternatives', args: ['json', python, scripts], env: process.env },
];
if (existsSync(`${root}build/fastapi/uvicorn`)) {
  const env = { ...process.env, PYTHONPATH: `${root}build/fastapi` };
  ways.push({ title: 'HTTP to FastAPI', driver: 'alternatives', args: ['fastapi', python, scripts], env });
} else left.push('FastAPI: `build/fastapi` is missing');

const times = new Map<string, number[]>();
for (let round = 0; round < ROUNDS; round++) {
  for (const { title, driver, args, env } of ways) {
    const script = fileURLToPath(new URL(`./drivers/${driver}.js`, import.meta.url));
    const output = execFileSync(process.execPath, [script, ...args], { encoding: 'utf8', env, cwd: root });
    for (const [direction, samples] of Object.entries(JSON.parse(output) as Record<string, number[]>)) {
      const key = `${title}|${direction}`;
      times.set(key, [...(times.get(key) ?? []), ...samples]);
    }
    console.log(`round ${round + 1} of ${ROUNDS}: ${title}`);
  }
}

/** The median and the least of a direction in microseconds. */
function cells(title: string, directions: readonly string[]): string {
  const samples = directions
    .map((direction) => times.get(`${title}|${direction}`))
    .find((found) => found !== undefined);
  if (samples === undefined) return ' | ';
  const { median, min } = summarise(samples);
  const micro = (nanoseconds: number) => (nanoseconds / 1000).toFixed(nanoseconds < 100_000 ? 1 : 0);
  return `${micro(median)} | ${micro(min)}`;
}
const rows = ways.map(({ title }) => {
  const here = cells(title, ['NumPy to JavaScript', 'Python to JavaScript']);
  return `| ${title} | ${here} | ${cells(title, ['Tensor to NumPy', 'Float32Array to NumPy', 'JavaScript to Python'])} |`;
});
const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
const report = `# 4 MiB between Node and Python, by everything that people use

Date ${new Date().toISOString().slice(0, 10)}; \`npm run bench -- alternatives\`; ${describeMachine()}, load ${(loadavg()[0] as number).toFixed(1)}; dlpack ${version}, Node ${process.versions.node}, Python ${ask('import platform; print(platform.python_version())')}, NumPy ${ask('import numpy; print(numpy.__version__)')}.

Microseconds for 4 MiB of float32, until the other side has read two of the elements: medians and least of ${ROUNDS} rounds in which
all took turns, each in a process of its own. The child process sends and receives JSON over pipes. FastAPI receives and returns bytes,
the least that HTTP can carry. Pyodide is Python in WebAssembly, with NumPy 2.0: \`toJs\` and \`toPy\` copy.

| way | to JavaScript, median | least | to Python, median | least |
|---|---|---|---|---|
${rows.join('\n')}
${left.length > 0 ? `\nLeft out, because it could not be installed here: ${left.join('; ')}.\n` : ''}`;
console.log(report);
if (ROUNDS > 1) {
  writeFileSync(`${root}bench/results/alternatives.md`, report);
  execFileSync(process.execPath, [`${root}scripts/pictures.mjs`]);
}
