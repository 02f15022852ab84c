/**
 * Tensors in the memory of a WebAssembly module, beside the package before this part of it was written anew. Both trees are
 * bundled from their TypeScript and take turns.
 *
 *   npm run bench -- wasm
 */

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { describeMachine } from './machine.js';
import type { Timing } from './measure.js';
import { median, runDriver, shown } from './runs.js';

const ROUNDS = 5;
/** How many times faster than before it is at least. */
const LIMIT = 3;
const BEFORE = '8b0c88a5';

const root = fileURLToPath(new URL('../../', import.meta.url));
const wasm = `${root}build/wasm/tensors32.wasm`;
if (!existsSync(wasm)) throw new Error('bench needs Zig, which compiles build/wasm/tensors32.wasm: run npm test once');
const folder = `${root}build/wasm-trees`;

/** Bundles a tree. */
function bundle(tree: string, name: string): string {
  const output = `${folder}/${name}.mjs`;
  const args = [`${tree}/src/wasm/index.ts`, '--bundle', '--format=esm', '--platform=neutral', '--target=es2022'];
  execFileSync(`${root}node_modules/.bin/esbuild`, [...args, '--log-level=warning', `--outfile=${output}`]);
  return output;
}

rmSync(folder, { recursive: true, force: true });
mkdirSync(`${folder}/before`, { recursive: true });
const source = execFileSync('git', ['archive', BEFORE, 'src', 'tsconfig.json'], { cwd: root, maxBuffer: 2 ** 28 });
execFileSync('tar', ['-x', '-C', `${folder}/before`], { input: source });
const bundles = { before: bundle(`${folder}/before`, 'old'), now: bundle(root, 'new') };

type Times = Record<string, Timing>;
const times: { before: Times; now: Times }[] = [];
for (let i = 0; i < ROUNDS; i++) {
  const [before] = runDriver<Times>('wasm', 1, { args: [bundles.before, wasm] }) as [Times];
  const [now] = runDriver<Times>('wasm', 1, { args: [bundles.now, wasm] }) as [Times];
  times.push({ before, now });
}
const rows = Object.keys(times[0]?.now ?? {}).map((name) => {
  const of = (side: 'before' | 'now') => times.map((each) => each[side][name]?.median ?? Number.NaN);
  const faster = median(of('before').map((time, i) => time / (of('now')[i] as number)));
  const cells = [shown(median(of('before'))), shown(median(of('now'))), shown(faster, 1)];
  return `| ${name} | ${cells.join(' | ')} | ${LIMIT} | ${faster >= LIMIT ? 'yes' : '**no**'} |`;
});
rmSync(folder, { recursive: true });

const report = `# WebAssembly

Date ${new Date().toISOString().slice(0, 10)}; \`npm run bench -- wasm\`; ${describeMachine()}, load ${(loadavg()[0] as number).toFixed(1)}; Node ${process.versions.node}.

Nanoseconds for one operation of a \`WasmHeap\` on a float32 tensor of shape 2 by 3 in 32-bit memory: medians over ${ROUNDS} runs, each in a
process of its own. *Before* is the package at commit ${BEFORE}, in the same turns. The last columns are the limit that this project has
set itself, and whether it holds.

| operation | before | now | times faster | at least | holds |
|---|---|---|---|---|---|
${rows.join('\n')}
`;
writeFileSync(`${root}bench/results/wasm.md`, report);
console.log(report);
