/** The memory of this process at its peak, for tests of loops that must not pile memory up. */

import { existsSync, readFileSync } from 'node:fs';

const status = '/proc/self/status';

/** The most memory that the process had at once, in MiB. */
export function peakMiB(): number {
  // Linux keeps the maxRSS of the program that started this one.
  if (!existsSync(status)) return process.resourceUsage().maxRSS / 1024;
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(status, 'utf8'))?.[1]) / 1024;
}

/** What a loop may add to the peak. */
export const MOST_MIB = 300;

/** Runs a loop in one tick, and prints how much it added to the peak, for `resultOf` of child.ts. */
export function printGrowth(rounds: number, round: (i: number) => void): void {
  round(-1); // loads what the loop needs
  const before = peakMiB();
  for (let i = 0; i < rounds; i++) round(i);
  console.log(`RESULT ${JSON.stringify(Math.round(peakMiB() - before))}`);
}
