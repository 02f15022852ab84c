/**
 * Pyodide: 4 MiB from Python to JavaScript, beside Pyodide's own functions.
 *
 *   npm run bench -- pyodide
 *   PYODIDE_SAMPLES=2 npm run bench -- pyodide        shows only that it works, and writes no result
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runPages, tools } from '../tests/browser/run.js';
import { importMap, root } from '../tests/browser/server.js';
import { resultOf } from '../tests/child.js';
import { counterparts } from '../tests/pyodide/load.js';
import { startAnother } from '../tests/pyodide/node.js';
import { describeMachine } from './machine.js';
import { measureRows, type Rows } from './pyodide/rows.js';

const isShort = process.env.PYODIDE_SAMPLES !== undefined;
process.env.PYODIDE_SAMPLES ??= '21'; // which the page reads, too
const count = Number(process.env.PYODIDE_SAMPLES);
/** How many times faster than `toJs()` it is at least. */
const limits = { Node: 50, page: 100 };

const browser = tools.findBrowser();
if (browser === null) throw new Error(tools.browserMissing);
const pyodide = await startAnother(counterparts.unversioned);
const inNode = measureRows(pyodide, count);
const { reports } = await runPages(browser, ['../bench/pyodide/rows.page.js'], importMap(['.', './pyodide']));
const inPage = resultOf<Rows>(reports[0]?.lines.join('\n') ?? '');

const micro = (value: number): string => `${value.toFixed(1)} µs`;
function row(place: string, { fromDLPack, getBuffer, toJs }: Rows, limit: number): string {
  const times = toJs / fromDLPack;
  const cells = [place, micro(fromDLPack), micro(getBuffer), micro(toJs), times.toFixed(0)];
  return `| ${[...cells, limit, times >= limit ? 'yes' : '**no**'].join(' | ')} |`;
}

const report = `# Pyodide

Date ${new Date().toISOString().slice(0, 10)}; \`npm run bench -- pyodide\`; ${describeMachine()};
Node ${process.versions.node}; Pyodide ${pyodide.version} with NumPy 2.0.

A float32 array of 4 MiB from Python to JavaScript, and its release. \`getBuffer()\` shares the memory as well, but its typed array ends
when Python's memory grows, and it knows neither float16 nor complex numbers. \`toJs()\` copies. The last columns are the limit that
this project has set itself, and whether it holds. Each time is the least of ${count} samples.

| where | fromDLPack | getBuffer() | toJs() | times faster than toJs() | at least | holds |
|---|---|---|---|---|---|---|
${row('Node', inNode, limits.Node)}
${row('a page', inPage, limits.page)}
`;
if (!isShort) writeFileSync(join(root, 'bench/results/pyodide.md'), report);
console.log(report);
