/**
 * TVM-FFI calls from Node and from Python, into the same libraries.
 *
 *   npm run bench -- tvm-ffi
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Tables } from './drivers/tvm-ffi.js';
import { describeMachine } from './machine.js';
import { compared, type Run, runDriver, shown, verdict } from './runs.js';
import { sources, upstreamTable } from './tvm-ffi-upstream.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const RUNS = 3;

/** The largest ratios to Python that this project allows. */
const limits: Record<string, number> = { 'nop(3 tensors)': 0.4 };

const tables = runDriver<Tables>('tvm-ffi', RUNS);
const runsOf = (part: keyof Tables): Run[] => tables.map((table) => table[part]);
const ratio = (own: number, other: number): number => own / other;
const namesOf = ([first]: readonly Run[]): string[] =>
  first === undefined ? [] : [...new Set([...Object.keys(first.ours), ...Object.keys(first.theirs)])];

/** The cells of a row: Node's median and minimum, Python's, both ratios, and the limit. */
function cells(runs: readonly Run[], name: string): string {
  const { own, other, median, least } = compared(runs, name, name, ratio);
  const times = [own?.median, own?.min, other?.median, other?.min].map((time) => shown(time));
  return [...times, shown(median, 3), shown(least, 3), verdict(median, limits[name])].join(' | ');
}
const table = (runs: readonly Run[]): string =>
  namesOf(runs)
    .map((name) => `| ${name} | ${cells(runs, name)} |`)
    .join('\n');

const torch = compared(runsOf('calls'), 'nop(3 tensors)', 'nop(3 torch tensors)', ratio);
const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
const named = Object.entries(tables[0]?.calls.versions ?? {}).map(([name, v]) => `${name} ${v}`);
const columns = `Node median | least | Python median | least | × Python | least | limit | holds |`;
const line = '---|---|---|---|---|---|---|---|';
const report = `# Calls through TVM-FFI

Date ${new Date().toISOString().slice(0, 10)}; \`npm run bench -- tvm-ffi\`; ${describeMachine()}, load ${(loadavg()[0] as number).toFixed(1)}; dlpack ${version}, Node ${process.versions.node}, ${named.join(', ')}.

Nanoseconds for one call into the same native function: medians over ${RUNS} runs, each in processes of its own in which both sides took
turns, and the least of all samples. The ratio is to Python's tvm_ffi. Tensors are float32 of six elements; results are
disposed. "Arrays of the host language" are a wrapped Float32Array here and a NumPy array there. The last columns are the limit that this
project has set itself, and whether the ratio of the medians holds it.

| call | ${columns}
|---|${line}
${table(runsOf('calls'))}

\`nop(3 tensors)\` is ${shown(torch.median, 2)} (least ${shown(torch.least, 2)}) × what Python takes for it with torch tensors.

## Objects and containers

Objects of the testing library, and lists, arrays and dicts of three elements at most. New objects are left to the collector.

| operation | ${columns}
|---|${line}
${table(runsOf('objects'))}

## Upstream's benchmark, row by row

The rows of apache/tvm-ffi \`tests/scripts/benchmark_dlpack.py\` and \`benchmark_pycallback.py\` that need no GPU, measured in the same
runs as above; tensors of one element. Python runs what upstream's script runs. Where this package has an operation of the same
purpose its own figure stands beside it, and the second column says what it is.

| row | in Node | ${columns} published Python 2025-05 | published Python 2025-11 | published Julia 2025-11 |
|---|---|${line}---|---|---|
${upstreamTable()
  .map(({ name, what, published }) => {
    const figures = [0, 1, 2].map((i) => published[i] ?? '').join(' | ');
    return `| ${name} | ${what} | ${cells(runsOf('upstream'), name)} | ${figures} |`;
  })
  .join('\n')}

${sources} Also there: Julia's \`nop()\` 11 and \`func(Int64)\` 20; a Julia callback 161, with an integer 210.
`;
writeFileSync(`${root}bench/results/tvm-ffi.md`, report);
console.log(report);
