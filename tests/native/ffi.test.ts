/** The programs of docs/guides/ffi.md, each on its runtime. */

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { equal } from '../assert.js';
import { runtime, testWith } from '../harness.js';

const root = new URL('../../../', import.meta.url);
const guide = readFileSync(new URL('docs/guides/ffi.md', root), 'utf8');
const library = fileURLToPath(new URL('build/ffi/libscale.so', root));
const koffi = new URL('.libraries/node_modules/koffi/index.js', root);

/** The part of the guide below a heading. */
const sectionOf = (heading: string) => guide.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';

/** The first program below a heading. */
const programOf = (heading: string) => /```(?:ts|js) [^\n]*\n(.*?)```/s.exec(sectionOf(heading))?.[1] ?? '';

/** The flags that the guide names below a heading, as in `deno run --allow-ffi`, and no others. */
const flagsOf = (heading: string) => /`(?:deno|node) ([^`]*)`/.exec(sectionOf(heading))?.[1]?.split(' ') ?? [];

/** Runs it as a file of the package, which finds `dlpack` by its name. */
function run(name: string, heading: string): string {
  const program = programOf(heading)
    .replace("'./libscale.so'", JSON.stringify(library))
    .replace("'koffi'", JSON.stringify(koffi.href));
  const file = fileURLToPath(new URL(`build/ffi/${name}`, root));
  writeFileSync(file, program);
  const { stdout, stderr } = spawnSync(process.execPath, [...flagsOf(heading), file], { encoding: 'utf8' });
  return stdout.replace(/\s+/g, ' ').trim() || stderr;
}

const built = existsSync(library) ? false : 'the library of docs/guides/ffi.md';
const [major = 0] = process.versions.node.split('.').map(Number);

/** For each FFI of this runtime: the file, and the heading of its program. */
const programs: readonly (readonly [file: string, heading: string])[] = {
  bun: [['bun.ts', 'Bun'] as const],
  deno: [['deno.ts', 'Deno'] as const],
  node: [['koffi.mjs', 'Every Node, with koffi'] as const, ...(major >= 26 ? [['node.mjs', 'Node 26'] as const] : [])],
}[runtime];

for (const [file, heading] of programs) {
  const missing = file === 'koffi.mjs' && !existsSync(koffi) ? 'koffi' : built;
  testWith(missing, `a C function writes into a tensor: ${heading}`, () => {
    equal(run(file, heading), '[ 2, 4, 6 ]');
  });
}
