/**
 * The delay of the event loop while asynchronous operations run and new ones start.
 *
 *   npm run bench -- event-loop
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { describeMachine } from './machine.js';
import { median, runDriver, shown, verdict } from './runs.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const RUNS = 3;
/** The largest 99th percentile of the delay, in milliseconds. */
const LIMIT = 5;
/** The longest delay, in milliseconds, of the rows that run beside eight busy Python threads and wait for no GIL. */
const LONGEST = 10;

type Delays = Record<string, { late: number[]; waited: number | null; starts: number[] }>;

function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

const runs = runDriver<Delays>('event-loop', RUNS);
const lines = Object.keys(runs[0] ?? {}).map((name) => {
  const all = runs.map((run) => run[name] as Delays[string]);
  const late = median(all.map(({ late }) => quantile(late, 0.99)));
  // A median would hide a process that stopped once.
  const [worst] = all
    .map(({ late: each, waited }) => ({ longest: Math.max(...each), waited }))
    .sort((a, b) => b.longest - a.longest);
  const { longest, waited } = worst as { longest: number; waited: number | null };
  const cells = [
    shown(median(all.map(({ late }) => quantile(late, 0.5))), 2),
    shown(late, 2),
    shown(longest, 2),
    waited === null ? '–' : shown(waited, 2),
    shown(median(all.map(({ starts }) => quantile(starts, 0.99))), 2),
    String(Math.round(median(all.map(({ starts }) => starts.length)))),
    verdict(late, all.some(({ starts }) => starts.length > 0) ? LIMIT : undefined),
    verdict(longest, name.startsWith('beside: ') ? LONGEST : undefined),
  ];
  return `| ${name} | ${cells.join(' | ')} |`;
});
const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
const report = `# The event loop

Date ${new Date().toISOString().slice(0, 10)}; \`npm run bench -- event-loop\`; ${describeMachine()}, load ${(loadavg()[0] as number).toFixed(1)}; dlpack ${version}, Node ${process.versions.node}.

Four operations run at a time for three seconds, and a new one starts when one ends. Meanwhile a timer of one millisecond measures
how many milliseconds late it runs: the median, the 99th percentile and the longest delay. Then come the time in which
an operation starts, which blocks the loop (99th percentile), and the number of operations. Figures are medians over ${RUNS} processes,
but the longest delay is the longest of all of them. *Of it, for a core* is the part of the longest delay in which the thread of the
loop was ready, and waited in the system's queue for a core.
The last columns are the limits that this project has set itself for the 99th percentile and for the longest delay, and whether they hold.
In the rows with *beside*, eight threads run pure Python code all the time, so whatever waits for Python's lock waits for about 40 ms.

| work | delay, median | 99 % | longest | of it, for a core | start, 99 % | operations | limit, 99 % | holds | limit, longest | holds |
|---|---|---|---|---|---|---|---|---|---|---|
${lines.join('\n')}
`;
writeFileSync(`${root}bench/results/event-loop.md`, report);
console.log(report);
