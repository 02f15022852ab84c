/**
 * Every peer, route, dtype, layout, flag and request, in each direction. docs/compatibility.md and the pages of
 * docs/compatibility have the results.
 *
 *   UPDATE=1 npm test -- python/conformance        writes them
 */

import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { cellsOf, peers } from '../../../../src/cli/python-matrix/cells.js';
import type { Context, Finding, Line } from '../../../../src/cli/python-matrix/lines.js';
import { equal, ok } from '../../../assert.js';
import { runtimeArgs } from '../../../child.js';
import { runtime, test, testWith } from '../../../harness.js';
import { pythonMissing } from '../available.js';
import { idleRows, join, surprises } from './findings.js';
import { pageOf, writeReport } from './report.js';

const root = fileURLToPath(new URL('../../../../../', import.meta.url));
const docs = `${root}docs/`;

/** The version of Python in an environment, as a number: 312. */
const pythonOf = (venv: string) => {
  const config = `${root}${venv}/pyvenv.cfg`;
  const [, major, minor] =
    /^version\D*(\d+)\.(\d+)/m.exec(existsSync(config) ? readFileSync(config, 'utf8') : '') ?? [];
  return Number(major) * 100 + Number(minor);
};
const tablesMissing =
  pythonMissing || (pythonOf('.venv') < 312 ? 'Python 3.12 in .venv: the tables show the newest peers' : false);

interface Run {
  readonly findings: Finding[];
  readonly contexts: Context[];
  readonly missing: string[];
}

/** A process for each environment, and two for the long one: an interpreter cannot change its NumPy. */
const groups: readonly (readonly [venv: string, names: readonly string[]])[] = [
  ['.venv', ['PyTorch', 'NumPy', 'JAX']],
  ['.venv', ['TVM-FFI', 'Arrow Tensor', 'Arrow Array', 'ml_dtypes']],
  ['.venv-numpy1', ['NumPy 1']],
];

async function runGroup(venv: string, names: readonly string[]): Promise<Run> {
  if (!existsSync(`${root}${venv}/pyvenv.cfg`)) return { findings: [], contexts: [], missing: [...names] };
  const matrix = ['conformance', '--python', names.join(','), '--venv', `${root}${venv}`, '--serve'];
  const child = spawn(process.execPath, [...runtimeArgs[runtime], `${root}dist/cli/main.js`, ...matrix], {
    timeout: 900_000,
  });
  let output = '';
  let errors = '';
  child.stdout.on('data', (chunk) => (output += chunk));
  child.stderr.on('data', (chunk) => (errors += chunk));
  const ended = await new Promise((resolve) => child.on('close', (code, signal) => resolve(signal ?? code)));
  const lines = output.split('\n').filter((line) => line.startsWith('{'));
  const messages = lines.map((line) => JSON.parse(line) as Line);
  const last = messages.findLast(({ begin }) => begin !== undefined)?.begin;
  equal(ended, 0, `the process for ${names.join(', ')} ended during ${last}\n${errors.slice(-2000)}`);
  return {
    findings: messages.filter(({ outcomes }) => outcomes !== undefined) as Finding[],
    contexts: messages.filter(({ itself }) => itself !== undefined) as Context[],
    missing: messages.flatMap(({ missing }) => missing ?? []),
  };
}

let run: Promise<Run> | null = null;
/** The whole table, once; two processes at a time. */
function runAll(): Promise<Run> {
  const inTwo = async () => {
    const [first, second, third] = groups.map(
      ([venv, names]) =>
        () =>
          runGroup(venv, names),
    );
    const parts = await Promise.all([first?.(), second?.().then(async (found) => [found, await third?.()])]);
    const runs = parts.flat() as Run[];
    return {
      findings: runs.flatMap(({ findings }) => findings),
      contexts: runs.flatMap(({ contexts }) => contexts),
      missing: runs.flatMap(({ missing }) => missing),
    };
  };
  run ??= inTwo();
  return run;
}

testWith(tablesMissing, 'every cell has the expected result', async () => {
  const { findings, missing } = await runAll();
  if (missing.length > 0) console.log(`# not compared: ${missing.join(', ')}`);
  ok(missing.length === 0 || !process.env.CI, `CI is set and a counterpart is missing: ${missing.join(', ')}`);
  const found = join(findings);
  const cells = peers.filter(({ name }) => !missing.includes(name)).flatMap(cellsOf).length;
  equal(found.length, cells, 'every cell ran');
  const wrong = surprises(found);
  equal(wrong.length, 0, `${wrong.length} cells are not as the tables say:\n${wrong.slice(0, 40).join('\n')}\n`);
});

testWith(tablesMissing, 'every known limit still exists', async () => {
  const { findings, missing } = await runAll();
  if (missing.length === 0) equal(idleRows(join(findings)), [], 'rows that apply to no cell');
});

/** What the run writes of a page. The rest of docs/compatibility.md belongs to tests/peers and tests/adapters/matrix.test.ts. */
function partsOf(path: string): { ours: string; rest: string } {
  const text = existsSync(docs + path) ? readFileSync(docs + path, 'utf8') : '';
  if (path !== 'compatibility.md') return { ours: text, rest: '' };
  const [ours = '', ...libraries] = text.split(/^(?=## (?:More Python|JavaScript) libraries$)/m);
  return { ours: ours.replace(/\n$/, ''), rest: `\n${libraries.join('')}` };
}

const remedy = 'look at it, then: UPDATE=1 npm test -- conformance';

testWith(tablesMissing, 'docs/compatibility.md and its pages equal the results of this run', async () => {
  const { findings, contexts, missing } = await runAll();
  if (missing.length > 0) return;
  mkdirSync(`${docs}compatibility`, { recursive: true });
  const faults = [...writeReport(join(findings), contexts)].flatMap(([path, text]) => {
    const { ours, rest } = partsOf(path);
    if (process.env.UPDATE) writeFileSync(docs + path, text + rest);
    if (process.env.UPDATE || text === ours) return [];
    const differs = text.split('\n').findIndex((line, i) => line !== ours.split('\n')[i]);
    return [`docs/${path} differs from line ${differs + 1} on; ${remedy}`];
  });
  equal(faults, []);
});

test('docs/compatibility has a page for each library, and no other', () => {
  const expected = peers.map(pageOf).sort();
  const unknown = readdirSync(`${docs}compatibility`).filter((name) => !expected.includes(name));
  if (process.env.UPDATE) for (const name of unknown) rmSync(`${docs}compatibility/${name}`);
  equal(readdirSync(`${docs}compatibility`).sort(), expected, remedy);
});
