/** Compilers that are quick and write down their arguments, and folders for what they build. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Tensor } from 'dlpack';
import { kernelsPath } from './peer.js';

/** A source. */
export const add = 'int64_t add(int64_t a, int64_t b) { return a + b; }';

/** Runs a test with an empty folder. */
export async function withFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'dlpack-test-'));
  try {
    await body(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * A fast stand-in for a compiler: its objects contain the included header, and its libraries are kernels.so with the objects
 * appended. It records its arguments. `first` runs before it compiles.
 */
export function standIn(folder: string, { name = 'compiler', first = '' } = {}) {
  const log = join(folder, 'log');
  const path = join(folder, name);
  const header = join(folder, 'my constants.h');
  writeFileSync(log, '');
  writeFileSync(header, '#define STEP 1\n');
  const script = `#!/bin/sh
[ "$1" = c++ ] && shift
[ "$1" = --version ] && exit 0
echo "${name} $*" >> '${log}'
for a; do [ "$before" = -o ] && out=$a; [ "$before" = -MF ] && rule=$a; before=$a; done
[ -z "$rule" ] && exec cat '${kernelsPath}' *.o > "$out"
${first}
echo 'x.o: cpp.cc \\' > "$rule"
echo '  ${header.replaceAll(' ', '\\ ')}' >> "$rule"
cat '${header}' > "$out"`;
  writeFileSync(path, script, { mode: 0o755 });
  const lines = () => readFileSync(log, 'utf8').trim().split('\n').filter(Boolean);
  return { compiler: [path, 'c++'], header, lines };
}

/** What the libraries of the stand-in have. */
export interface Iota {
  iota(count: number): Tensor;
}
