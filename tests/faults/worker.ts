/** Runs the steps of one scenario in a new instance of the package, and reports errors without a type and leaks. */

import { parentPort, workerData } from 'node:worker_threads';
import { isDLPackError } from 'dlpack';
import { liveCounts } from 'dlpack/debug';
import { collectUntil } from '../harness.js';
import { type Scenario, type Steps, scenarios } from './scenarios.js';

export interface Report {
  /** Errors that are not the package's own. */
  readonly untyped: string[];
  /** The leaks after the collector ran; null if there are none. */
  readonly left: string | null;
}

const untyped: string[] = [];

async function attempt<T>(name: string, run: () => T): Promise<Awaited<T> | null> {
  try {
    return await run();
  } catch (error) {
    if (!isDLPackError(error)) untyped.push(`${name}: ${error instanceof Error ? error.stack : String(error)}`);
    return null;
  }
}

const counts = (): string => {
  const { storages, bytes, imports, exports, tickets, pins } = liveCounts();
  return JSON.stringify({ storages, bytes, imports, exports, tickets, pins });
};

const { scenario, baseline } = workerData as { scenario: Scenario; baseline: string | null };
const steps = (await attempt('start', scenarios[scenario])) as Steps | null;
for (const [name, step] of Object.entries(steps ?? {})) await attempt(name, step);
let left: string | null = null;
await attempt('stats', async () => {
  const wanted = baseline ?? counts();
  if (counts() !== wanted && !(await collectUntil(() => counts() === wanted))) left = `${counts()}, not ${wanted}`;
});
parentPort?.postMessage({ untyped, left } satisfies Report);
