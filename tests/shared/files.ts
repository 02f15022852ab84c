/** Descriptors of shared memory in this process. A runtime opens and closes others at any time, such as its cache of code. */

import { readdirSync, readlinkSync } from 'node:fs';

export const memoryFiles = (): number => readdirSync('/proc/self/fd').filter(isMemory).length;

function isMemory(file: string): boolean {
  try {
    return readlinkSync(`/proc/self/fd/${file}`).startsWith('/memfd:dlpack');
  } catch {
    return false; // the descriptor of the folder itself, which is closed now
  }
}
