/**
 * Everyday operations compared with NumPy, on every runtime, in one run. A runtime takes less than a minute; names choose
 * some of them, and their page is only printed.
 *
 *   npm run bench -- everyday
 *   node build/bench/everyday.bench.js 'Node 20' Bun
 */

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { describeMachine } from './machine.js';
import { summarise } from './measure.js';
import { installed, type Runtime, reference } from './runtimes.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const driver = fileURLToPath(new URL('./drivers/everyday.js', import.meta.url));
const ROUNDS = 3;

const python = `${root}.venv/bin/python`;
if (!existsSync(python)) throw new Error('bench needs .venv: run npm test once');
const chosen = process.argv.slice(2);
const present = installed.filter(({ name }) => chosen.length === 0 || chosen.includes(name));
if (present.length === 0) throw new Error('bench needs .runtimes: run npm run test:runtimes once');

type Times = Record<string, number[]>;
type Answer = { times: Times; torch?: Times; versions?: Record<string, string> };
const ask = (command: string, args: readonly string[]): Answer =>
  JSON.parse(execFileSync(command, args, { encoding: 'utf8' }).trim().split('\n').at(-1) as string);

/** Samples of each side, row by row. A ratio is the median, over all rounds, of the ratio of two medians. */
const sides = new Map<string, Map<string, number[]>>();
const ratios = new Map<string, Map<string, number[]>>();
const push = (all: Map<string, Map<string, number[]>>, side: string, row: string, value: number): void => {
  if (!all.has(side)) all.set(side, new Map());
  const rows = all.get(side) as Map<string, number[]>;
  rows.set(row, [...(rows.get(row) ?? []), value]);
};
let versions: Record<string, string> = {};
for (let round = 0; round < ROUNDS; round++) {
  const numpy = ask(python, [`${root}bench/drivers/everyday.py`]);
  versions = numpy.versions ?? {};
  for (const [row, samples] of Object.entries(numpy.times)) push(sides, 'NumPy', row, summarise(samples).median);
  for (const [row, samples] of Object.entries(numpy.torch ?? {}))
    push(sides, 'PyTorch', row, summarise(samples).median);
  for (const runtime of present) {
    const { times } = ask(runtime.program, [...runtime.args, driver]);
    for (const [row, samples] of Object.entries(times)) {
      const { median } = summarise(samples);
      push(sides, runtime.name, row, median);
      const theirs = numpy.times[row];
      if (theirs !== undefined) push(ratios, runtime.name, row, median / summarise(theirs).median);
    }
  }
  console.log(`round ${round + 1} of ${ROUNDS}`);
}

const median = (values: readonly number[] | undefined): number =>
  values === undefined ? Number.NaN : summarise(values).median;
/** The Node that runs this, if it is among them. */
const first = (present.find(({ name }) => name === reference) ?? (present[0] as Runtime)).name;
const names = [...(sides.get(first) as Map<string, number[]>).keys()];
const shown = (ns: number): string =>
  Number.isNaN(ns)
    ? ''
    : ns < 1000
      ? `${ns.toFixed(0)} ns`
      : ns < 1e6
        ? `${(ns / 1e3).toFixed(2)} µs`
        : `${(ns / 1e6).toFixed(2)} ms`;
/** The rows of six elements that may take 400 ns. All others with a counterpart may take as long as NumPy. */
const small = /^(empty|zeros|from a typed array|copy|copy of the transpose|astype.*), 6 elements$/;
const MOST_NS = 400;
const timeOf = (side: string, row: string): number => median(sides.get(side)?.get(row));
const ratioOf = (side: string, row: string): number => median(ratios.get(side)?.get(row));

/** The cells for the limit of a row, and for the runtimes that miss it. */
function verdict(row: string): string {
  const isSmall = small.test(row);
  if (!isSmall && !ratios.get(first)?.has(row)) return ' | ';
  const missed = present.flatMap(({ name }) => {
    const misses = isSmall ? timeOf(name, row) > MOST_NS : ratioOf(name, row) > 1;
    return misses ? [`${name} ${isSmall ? shown(timeOf(name, row)) : ratioOf(name, row).toFixed(3)}`] : [];
  });
  return `${isSmall ? `${MOST_NS} ns` : '1'} | ${missed.length === 0 ? 'yes' : `**no**: ${missed.join(', ')}`}`;
}

const lines = names.map((row) => {
  const cells = present.map(({ name }) => {
    const ratio = ratioOf(name, row);
    return Number.isNaN(ratio) ? shown(timeOf(name, row)) : ratio.toFixed(2);
  });
  return `| ${row} | ${shown(timeOf('NumPy', row))} | ${shown(timeOf(first, row))} | ${cells.join(' | ')} | ${verdict(row)} |`;
});
const torchLines = [...(sides.get('PyTorch') ?? new Map<string, number[]>()).keys()].map((row) => {
  const [theirs, ours] = [timeOf('PyTorch', row), timeOf(first, row)];
  return `| ${row} | ${shown(timeOf('NumPy', row))} | ${shown(theirs)} | ${shown(ours)} | ${(ours / theirs).toFixed(2)} |`;
});
const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
const report = `# Everyday operations

Date ${new Date().toISOString().slice(0, 10)}; \`npm run bench -- everyday\`; ${describeMachine()}, load ${(loadavg()[0] as number).toFixed(1)}; dlpack ${version}, ${Object.entries(
  versions,
)
  .map(([name, v]) => `${name} ${v}`)
  .join(', ')}.

The time of one operation; its result is disposed. The columns with × are the ratio to NumPy in each runtime: the median over
${ROUNDS} rounds in which all of them took turns, each in its own process. A ratio below 1 is faster than NumPy. Tensors are float32, and
bfloat16 in Python is that of ml_dtypes. Rows without a counterpart in NumPy have times. The last columns are the limit that this
project has set itself, a ratio or a time, and whether all runtimes hold it.

| operation | NumPy | ${first} | ${present.map(({ name }) => `× ${name}`).join(' | ')} | limit | holds |
|---|---|---|${present.map(() => '---').join('|')}|---|---|
${lines.join('\n')}

An image of 224 × 224 pixels for a model, from bytes to float32. This package does it in one pass, PyTorch with the operations of
torchvision's \`ToTensor\` and \`Normalize\`.

| operation | NumPy | PyTorch | ${first} | × PyTorch |
|---|---|---|---|---|
${torchLines.join('\n')}
`;
if (chosen.length === 0) writeFileSync(`${root}bench/results/everyday.md`, report);
console.log(report);
