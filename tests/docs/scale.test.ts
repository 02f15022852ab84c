/** The figures of the note on scale agree with the committed results and with its own arithmetic. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { equal, ok } from '../assert.js';
import { test } from '../harness.js';
import { root } from './project.js';

const read = (path: string): string => readFileSync(join(root, path), 'utf8').replaceAll('\n', ' ');
const page = read('docs/design/scale.md');
const scale = read('bench/results/scale.md');
const cluster = read('bench/results/cluster.md');

/** The numbers that a pattern captures. */
function numbers(text: string, pattern: RegExp): number[] {
  const found = pattern.exec(text);
  ok(found !== null, `${pattern} in ${text.slice(0, 40)}`);
  return (found as RegExpExecArray).slice(1).map((part) => Number(part.replaceAll(',', '')));
}
const number = (text: string, pattern: RegExp): number => numbers(text, pattern)[0] as number;
/** Results change a little with every run of the benchmark. */
function near(actual: number, expected: number, what: string): void {
  ok(Math.abs(actual / expected - 1) < 0.1, `${what}: ${actual} on the page, ${expected} computed`);
}

test('the page on scale has the figures of the benchmark', () => {
  near(
    number(page, /about \*\*(\d+) tasks a second/),
    number(scale, /finishes (\d+) tasks a second/),
    'tasks a second',
  );
  const [rate, milliseconds] = numbers(page, /at ([\d.]+) GiB a second \(`put` of 256 MiB takes (\d+) ms\)/);
  near(milliseconds as number, number(cluster, /put 256 MiB \| ([\d.]+)/), 'put');
  near(rate as number, 250 / (milliseconds as number), 'bytes a second');
  for (const row of ['memory of its own', 'processor']) {
    const inPage = numbers(page, new RegExp(`\\| ${row}[^|]*\\| ([\\d.]+)[^|]*\\| ([\\d.]+)`));
    equal(inPage, numbers(scale, new RegExp(`\\| ${row}[^|]*\\| ([\\d.]+) \\| ([\\d.]+)`)), row);
  }
});

test('the arithmetic of the page on scale', () => {
  const driver = number(page, /about \*\*(\d+) tasks a second/);
  for (const [, nodes, seconds] of page.matchAll(/\| (\d+) \| ([\d.]+) s \|/g)) {
    near(Number(seconds), (Number(nodes) * 8) / driver, `${nodes} nodes`);
  }
  const network = number(page, /10 Gbit\/s that is ([\d.]+) GiB/);
  near(network, 10e9 / 8 / 2 ** 30, 'network');
  const [small, large] = numbers(page, /(\d+) with 1 MiB, (\d+) with 64 MiB/);
  near(small as number, network * 1024, 'tasks with 1 MiB');
  near(large as number, (network * 1024) / 64, 'tasks with 64 MiB');
  const [store] = numbers(page, /(\d+) GiB of 64 GiB/);
  near(store as number, 0.3 * 64, 'store');
  const [ones, sixtyFours] = numbers(page, /holds ([\d,]+) tensors of 1 MiB, or (\d+) of 64 MiB/);
  near(ones as number, (store as number) * 1024, 'tensors of 1 MiB');
  near(sixtyFours as number, ((store as number) * 1024) / 64, 'tensors of 64 MiB');
  const memory = number(page, /memory of its own \| \d+ MiB \| (\d+) MiB/) / 1024;
  near(number(page, /room for about (\d+) JavaScript actors/), (0.7 * 64) / memory, 'actors');
  near(number(page, /weights of 1 GiB leave room for (\d+)/), (0.7 * 64) / (1 + memory), 'actors with weights');
  near(number(page, /start of 8 actors takes (\d+) s/), 8 * number(page, /start \| [\d.]+ s \| ([\d.]+) s/), 'start');
});

test('the simulation follows the prediction of the page on scale', () => {
  const rows = [...scale.matchAll(/\| (\d) \| (\d+) ms \| (\d+) \| (\d+) \| ([\d.]+) \|/g)].map((row) =>
    row.slice(1).map(Number),
  ) as [number, number, number, number, number][];
  equal([...new Set(rows.map(([nodes]) => nodes))], [2, 4, 8]);
  const shares = rows.map((row) => row[4]).sort((a, b) => a - b);
  const [low, high, odd] = numbers(page, /are ([\d.]+) to ([\d.]+) of the prediction, except one \(([\d.]+)\)/);
  equal([shares[0], shares[1], shares.at(-1)], [odd, low, high], 'measured / predicted');
  const rate = (nodes: number, ms: number): number => rows.find((row) => row[0] === nodes && row[1] === ms)?.[3] ?? 0;
  for (const ms of new Set(rows.map((row) => row[1]))) {
    ok(rate(2, ms) < rate(4, ms) && rate(4, ms) < rate(8, ms), `more nodes do more tasks of ${ms} ms`);
  }
  const most = numbers(page, /eight nodes reach (\d+) of the (\d+) predicted/);
  const [, , predicted, measured] = rows.find(([nodes, ms]) => nodes === 8 && ms === 10) ?? [];
  equal(most, [measured, predicted]);
});
