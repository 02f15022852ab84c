/** Files for tests, in a folder that is removed when the process ends. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folder = mkdtempSync(join(tmpdir(), 'dlpack-files-'));
process.on('exit', () => {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch (error) {
    // Windows cannot delete files that are still mapped.
    if (process.platform !== 'win32') throw error;
  }
});
let count = 0;

/** An unused path, in a folder that is removed when the process ends. */
export function newPath(name: string): string {
  const own = join(folder, String(count++));
  mkdirSync(own);
  return join(own, name);
}

/** A file with this content. */
export function fileOf(bytes: Uint8Array | string, name = 'file'): string {
  const path = newPath(name);
  writeFileSync(path, bytes);
  return path;
}

export * from './bytes.js';
