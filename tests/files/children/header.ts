/** Opens each file, by its extension, and prints the error, the largest array that was made, and how much memory grew. */

import { existsSync, readFileSync } from 'node:fs';
import { isDLPackError } from 'dlpack';
import { liveCounts } from 'dlpack/debug';
import { openGguf, openNpz, openSafetensors } from 'dlpack/files';

let largest = 0;
const Plain = Uint8Array;
globalThis.Uint8Array = new Proxy(Plain, {
  construct(target, args, newTarget) {
    if (typeof args[0] === 'number') largest = Math.max(largest, args[0]);
    return Reflect.construct(target, args, newTarget);
  },
});

/** The most memory that the process had at once, in MiB; 0 where the system does not tell. */
function peak(): number {
  const status = '/proc/self/status';
  return existsSync(status) ? Number(/VmHWM:\s+(\d+)/.exec(readFileSync(status, 'utf8'))?.[1]) / 1024 : 0;
}

const openers = { gguf: openGguf, npz: openNpz };
const results: unknown[] = [];
for (const path of process.argv.slice(2)) {
  const source = path.endsWith('.blob') ? new Blob([readFileSync(path)]) : path;
  const { storages, imports } = liveCounts();
  const before = peak();
  let problem = 'opened';
  largest = 0;
  try {
    const open = openers[path.split('.').at(-1) as 'gguf'] ?? openSafetensors;
    await open(source as string);
  } catch (error) {
    problem = isDLPackError(error, 'FileFormatError') ? error.message : String(error);
  }
  const grown = Math.round(peak() - before);
  const after = liveCounts();
  results.push({ problem, largest, grown, kept: [after.storages - storages, after.imports - imports] });
}
console.log(JSON.stringify(results));
