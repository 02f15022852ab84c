/** Pyodide in Node, Bun and Deno. */

import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { runtime, testWith, unless } from '../harness.js';
import { type Counterpart, load, type Pyodide } from './load.js';

const root = new URL('../../../.pyodide/node_modules/', import.meta.url);

/** What is missing for a counterpart; false if it is there. Old Pyodides know Node only. */
function missing({ pyodide, numpy }: Counterpart): string | false {
  const absent = [pyodide, ...(numpy === null ? [] : [numpy])].find((path) => !existsSync(new URL(path, root)));
  return absent === undefined ? false : `${absent} in .pyodide`;
}

/** A function that registers tests with one Pyodide, which the first of them starts. */
export function testsWith(counterpart: Counterpart) {
  let started: Promise<Pyodide> | undefined;
  const read = async (path: string) => Uint8Array.from(readFileSync(fileURLToPath(new URL(path, root))));
  const start = () => {
    started ??= load(counterpart, root.href, read);
    return started;
  };
  const lacks = unless(runtime === 'node', 'Pyodide is tested in Node and in pages') || missing(counterpart);
  return (name: string, body: (pyodide: Pyodide) => void | Promise<void>): void => {
    testWith(lacks, name, async () => body(await start()));
  };
}

/** Another Pyodide of the same version. */
export const startAnother = (counterpart: Counterpart): Promise<Pyodide> =>
  load(counterpart, root.href, async (path) => Uint8Array.from(readFileSync(fileURLToPath(new URL(path, root)))));
