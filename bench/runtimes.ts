/** The versions of Node on the pages: the one that runs the benchmark, and others beside it. */

import { existsSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { runDriver } from './runs.js';

const root = fileURLToPath(new URL('../../', import.meta.url));

export interface Runtime {
  readonly name: string;
  readonly args: readonly string[];
  readonly program: string;
}
type Row = Omit<Runtime, 'program'>;
const { runtimes, runtimePath } = (await import(pathToFileURL(`${root}scripts/lib/runtimes.mjs`).href)) as {
  runtimes: readonly Row[];
  runtimePath(runtime: Row): string;
};

/** Every runtime that is installed in .runtimes. */
export const installed: readonly Runtime[] = runtimes
  .map((runtime) => ({ ...runtime, program: runtimePath(runtime) }))
  .filter(({ program }) => existsSync(program));

/** The name of the Node that runs this, such as 'Node 24'. */
export const reference = `Node ${process.versions.node.split('.')[0]}`;

/** The Nodes whose figures stand beside those of the reference. */
export const beside = installed.filter(({ name }) => /^Node 2[246]$/.test(name) && name !== reference);

/** The answers of a driver on the Node that runs this, and on those beside it, by turns. */
export function runDriverOnEach<T>(name: string, count: number): { runs: T[]; others: T[][] } {
  const runs: T[] = [];
  const others = beside.map((): T[] => []);
  for (let i = 0; i < count; i++) {
    runs.push(...runDriver<T>(name, 1));
    for (const [at, { program }] of beside.entries()) others[at]?.push(...runDriver<T>(name, 1, { program }));
  }
  return { runs, others };
}
