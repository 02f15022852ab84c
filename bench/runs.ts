/** Runs a driver several times, each in its own process, because engines and memory differ from process to process. */

import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { summarise, type Timing } from './measure.js';

/** How often a benchmark measures everything: the number after `--rounds`, or `usual`. */
export function roundsOf(usual: number): number {
  const { rounds = String(usual) } = parseArgs({ options: { rounds: { type: 'string' } } }).values;
  if (!/^[1-9]\d*$/.test(rounds)) throw new Error(`Expected a number of rounds from 1 on but received '${rounds}'`);
  return Number(rounds);
}

/** What a driver prints as the last line, as JSON. */
export interface Run {
  /** Of each operation, on each side that has it. */
  readonly ours: Record<string, Timing>;
  readonly theirs: Record<string, Timing>;
  readonly versions: Record<string, string>;
}

export interface DriverOptions {
  readonly args?: readonly string[];
  /** The Node that runs the driver; the one that runs the benchmark when absent. */
  readonly program?: string;
}

/** The answer of one driver in each of `count` processes. */
export function runDriver<T>(name: string, count: number, options: DriverOptions = {}): T[] {
  const { args = [], program = process.execPath } = options;
  const file = fileURLToPath(new URL(`./drivers/${name}.js`, import.meta.url));
  return Array.from({ length: count }, (): T => {
    const output = execFileSync(program, ['--expose-gc', file, ...args], {
      encoding: 'utf8',
      maxBuffer: 2 ** 26,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    return JSON.parse(output.trim().split('\n').at(-1) as string) as T;
  });
}

export const median = (values: readonly number[]): number =>
  values.length === 0 ? Number.NaN : summarise(values).median;

/** One number over all runs: the median of medians, the least of the least. */
export function overall(timings: readonly Timing[]): Timing {
  return { median: median(timings.map((t) => t.median)), min: Math.min(...timings.map((t) => t.min)) };
}

/** Compares two operations over all runs. `compare` gets the times of one run. */
export function compared(
  runs: readonly Run[],
  own: string,
  other: string,
  compare: (own: number, other: number) => number,
): { readonly own?: Timing; readonly other?: Timing; readonly median: number; readonly least: number } {
  const mine = runs.flatMap(({ ours }) => ours[own] ?? []);
  const peer = runs.flatMap(({ theirs }) => theirs[other] ?? []);
  const ratios = mine.flatMap((t, i) => (peer[i] === undefined ? [] : [compare(t.median, peer[i].median)]));
  const [a, b] = [mine, peer].map((t) => (t.length === 0 ? undefined : overall(t)));
  const least = a === undefined || b === undefined ? Number.NaN : compare(a.min, b.min);
  return { ...(a && { own: a }), ...(b && { other: b }), median: median(ratios), least };
}

/** A number for a cell; empty for a missing number. */
export const shown = (value: number | undefined, digits = 0): string =>
  value === undefined || Number.isNaN(value) ? '' : value.toFixed(digits);

/** The cells for a limit: the limit, and whether the value holds it; both empty without a limit. */
export function verdict(value: number, limit: number | undefined): string {
  if (limit === undefined) return ' | ';
  return `${limit} | ${value <= limit ? 'yes' : '**no**'}`;
}
