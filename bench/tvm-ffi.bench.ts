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
import { compared, type Run, shown, verdict } from './runs.js';
import { beside, runDriverOnEach } from './runtimes.js';
import { sources, upstreamTable } from './tvm-ffi-upstream.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const RUNS = 3;

/** The largest ratios to Python that this project allows. */
const limits: Record<string, number> = { 'nop(3 tensors)': 0.4 };

type Part = keyof Tables;
const { runs: tables, others } = runDriverOnEach<Tables>('tvm-ffi', RUNS);
const runsOf = (part: Part, of: readonly Tables[] = tables): Run[] => of.map((table) => table[part]);
const ratio = (own: number, other: number): number => own / other;
const namesOf = ([first]: readonly Run[]): string[] =>
  first === undefined ? [] : [...new Set([...Object.keys(first.ours), ...Object.keys(first.theirs)])];

/** The cells of a row: Node's median and minimum, Python's, both ratios, the limit, and the ratios on other Nodes. */
function cells(part: Part, name: string): string {
  const { own, other, median, least } = compared(runsOf(part), name, name, ratio);
  const elsewhere = others.map((each) => shown(compared(runsOf(part, each), name, name, ratio).median, 3));
  const times = [own?.median, own?.min, other?.median, other?.min].map((time) => shown(time));
  return [...times, shown(median, 3), shown(least, 3), verdict(median, limits[name]), ...elsewhere].join(' | ');
}
const table = (part: Part): string =>
  namesOf(runsOf(part))
    .map((name) => `| ${name} | ${cells(part, name)} |`)
    .join('\n');

const torch = compared(runsOf('calls'), 'nop(3 tensors)', 'nop(3 torch tensors)', ratio);
const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
const named = Object.entries(tables[0]?.calls.versions ?? {}).map(([name, v]) => `${name} ${v}`);
const columns = `Node median | least | Python median | least | × Python | least | limit | holds |${beside.map((node) => ` × Python, ${node.name} |`).join('')}`;
const line = `---|---|---|---|---|---|---|---|${'---|'.repeat(beside.length)}`;
const report = `# Calls through TVM-FFI

Date ${new Date().toISOString().slice(0, 10)}; \`npm run bench -- tvm-ffi\`; ${describeMachine()}, load ${(loadavg()[0] as number).toFixed(1)}; dlpack ${version}, Node ${process.versions.node}, ${named.join(', ')}.

Nanoseconds for one call into the same native function: medians over ${RUNS} runs, each in processes of its own in which both sides took
turns, and the least of all samples. The ratio is to Python's tvm_ffi. Tensors are float32 of six elements; results are
disposed. "Arrays of the host language" are a wrapped Float32Array here and a NumPy array there. The last columns are the limit that this
project has set itself, whether the ratio of the medians holds it, and that ratio on other versions of Node.

| call | ${columns}
|---|${line}
${table('calls')}

\`nop(3 tensors)\` is ${shown(torch.median, 2)} (least ${shown(torch.least, 2)}) × what Python takes for it with torch tensors.

## Objects and containers

Objects of the testing library, and lists, arrays and dicts of three elements at most. New objects are left to the collector.

| operation | ${columns}
|---|${line}
${table('objects')}

## Upstream's benchmark, row by row

The rows of apache/tvm-ffi \`tests/scripts/benchmark_dlpack.py\` and \`benchmark_pycallback.py\` that need no GPU, measured in the same
runs as above; tensors of one element. Python runs what upstream's script runs. Where this package has an operation of the same
purpose its own figure stands beside it, and the second column says what it is.

| row | in Node | ${columns} published Python 2025-05 | published Python 2025-11 | published Julia 2025-11 |
|---|---|${line}---|---|---|
${upstreamTable()
  .map(({ name, what, published }) => {
    const figures = [0, 1, 2].map((i) => published[i] ?? '').join(' | ');
    return `| ${name} | ${what} | ${cells('upstream', name)} | ${figures} |`;
  })
  .join('\n')}

${sources} Also there: Julia's \`nop()\` 11 and \`func(Int64)\` 20; a Julia callback 161, with an integer 210.
`;
writeFileSync(`${root}bench/results/tvm-ffi.md`, report);
console.log(report);
