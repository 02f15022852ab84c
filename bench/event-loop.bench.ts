/**
 * The delay of the event loop while asynchronous operations run and new ones start.
 *
 *   npm run bench -- event-loop
 */

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { describeMachine } from './machine.js';
import { summarise } from './measure.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const driver = fileURLToPath(new URL('./drivers/event-loop.js', import.meta.url));
const ROUNDS = 3;

type Delays = Record<string, { late: number[]; starts: number[] }>;

function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

const rounds = Array.from({ length: ROUNDS }, (): Delays => {
  const output = execFileSync(process.execPath, [driver], { encoding: 'utf8', maxBuffer: 2 ** 26 });
  return JSON.parse(output.trim().split('\n').at(-1) as string);
});
const shown = (values: readonly number[]): string => {
  const { median } = summarise(values);
  return Number.isNaN(median) ? '' : median.toFixed(2);
};
const lines = Object.keys(rounds[0] as Delays).map((name) => {
  const all = rounds.map((round) => round[name] as Delays[string]);
  const cells = [
    shown(all.map(({ late }) => quantile(late, 0.5))),
    shown(all.map(({ late }) => quantile(late, 0.99))),
    shown(all.map(({ late }) => Math.max(...late))),
    shown(all.map(({ starts }) => quantile(starts, 0.99))),
    String(Math.round(summarise(all.map(({ starts }) => starts.length)).median)),
  ];
  return `| ${name} | ${cells.join(' | ')} |`;
});
const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
const report = `# The event loop

Date ${new Date().toISOString().slice(0, 10)}; \`npm run bench -- event-loop\`; ${describeMachine()}, load ${(loadavg()[0] as number).toFixed(1)}; dlpack ${version}, Node ${process.versions.node}.

Four operations run at a time for three seconds, and a new one starts when one ends. Meanwhile a timer of one millisecond measures
how many milliseconds late it runs: the median, the 99th percentile and the longest delay. The last columns are the time in which
an operation starts, which blocks the loop (99th percentile), and the number of operations. Figures are medians of ${ROUNDS} processes.
The goal is a 99th percentile below 5.

| work | delay, median | 99 % | longest | start, 99 % | operations |
|---|---|---|---|---|---|
${lines.join('\n')}
`;
writeFileSync(`${root}bench/results/event-loop.md`, report);
console.log(report);
