/**
 * Exchanges with every peer for a given time: `soak.js --seconds 3600 [--report file.md]`. It prints counts, memory and latencies
 * once a minute. A wrong value, a leak or growing memory ends it with a failure. Beside it, another process imports a thousand blocks
 * of 64 MiB and forgets them.
 */

import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { liveCounts } from 'dlpack/debug';
import { endPeers, peers, py, slowEvery, slowPeers } from './peers.js';

const { values: options } = parseArgs({
  options: { seconds: { type: 'string', default: '60' }, report: { type: 'string' } },
});
const seconds = Number(options.seconds);

interface Row {
  readonly seconds: number;
  readonly rounds: number;
  readonly rss: number;
  readonly storages: number;
  readonly imports: number;
  readonly exports: number;
  readonly load: number;
}

const head =
  '| seconds | rounds | RSS MiB | storages | imports | exports | load of the machine |\n|---|---|---|---|---|---|---|';
const printed = (row: Row): string =>
  `| ${row.seconds} | ${row.rounds} | ${row.rss} | ${row.storages} | ${row.imports} | ${row.exports} | ${row.load} |`;

const start = Date.now();
const end = start + seconds * 1000;
const times = new Map(Object.keys({ ...peers, ...slowPeers }).map((name) => [name, [] as number[]]));
const rows: Row[] = [];
let rounds = 0;
let exchanges = 0;

function record(): void {
  const { storages, imports, exports } = liveCounts();
  const [load = 0] = loadavg();
  const row = {
    seconds: Math.round((Date.now() - start) / 1000),
    rounds,
    rss: Math.round(process.memoryUsage.rss() / 2 ** 20),
    storages,
    imports,
    exports,
    load: Number(load.toFixed(1)),
  };
  rows.push(row);
  console.log(printed(row));
}

/** The most MiB that a process uses which imports 1000 blocks of 64 MiB, touched, and forgets them. */
async function forgetImports(): Promise<number> {
  const script = fileURLToPath(new URL('../native/children/forgotten.js', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [script, '1000', 'touched']);
  return Math.round((JSON.parse(stdout) as { resident: number }).resident / 2 ** 20);
}
const forgetting = forgetImports();
forgetting.catch(() => {}); // it is awaited at the end

console.log(head);
const between = Math.max(5000, (seconds * 1000) / 60);
for (let next = start; Date.now() < end; rounds++) {
  const value = rounds % 1000;
  for (const [name, exchange] of Object.entries(rounds % slowEvery === 0 ? { ...peers, ...slowPeers } : peers)) {
    const began = performance.now();
    await exchange(value);
    const list = times.get(name) as number[];
    list.push(performance.now() - began);
    if (list.length > 20_000) list.splice(0, 10_000);
    exchanges++;
  }
  if (Date.now() >= next) {
    record();
    next = Date.now() + between;
  }
}

await endPeers();
const collect = (globalThis as { gc?: () => void }).gc;
for (let i = 0; i < 20 && liveCounts().storages > 0; i++) {
  collect?.();
  py.import('gc').collect();
  await new Promise((resolve) => setTimeout(resolve, 50));
}
record();

const at = (sorted: readonly number[], part: number): string =>
  ((sorted[Math.floor((sorted.length - 1) * part)] ?? 0) * 1000).toFixed(0);
const latencies = [...times].map(([name, list]) => {
  const sorted = list.sort((a, b) => a - b);
  return `| ${name} | ${at(sorted, 0.5)} | ${at(sorted, 0.99)} | ${at(sorted, 1)} |`;
});
const table = ['| exchange | median µs | 99 % µs | worst µs |', '|---|---|---|---|', ...latencies].join('\n');
console.log(`\n${table}`);

const resident = await forgetting;
const left = liveCounts();
const [middle, last] = [rows[Math.floor(rows.length / 2)] as Row, rows.at(-1) as Row];
const isLeaking = left.storages + left.imports + left.exports > 0;
const isGrowing = last.rss > middle.rss * 1.1 + 64;
const verdict =
  `${exchanges} exchanges in ${rounds} rounds. Left behind: ${left.storages} storages, ${left.imports} imports, ` +
  `${left.exports} exports. RSS ${middle.rss} MiB halfway, ${last.rss} MiB at the end.\n\n` +
  `1000 imports of 64 MiB each in another process, touched and forgotten: its RSS was at most ${resident} MiB.`;
console.log(verdict);
if (options.report !== undefined) {
  const intro =
    `# Soak\n\n\`npm run soak -- --minutes ${Math.round(seconds / 60)}\`, ${new Date().toISOString().slice(0, 10)}, ` +
    `Node ${process.versions.node}, Linux. Each round exchanges 64 x 64 float32 tensors with every peer and checks ` +
    'the values that come back. Latencies depend on the load of the machine, which the first table has.';
  writeFileSync(options.report, `${intro}\n\n${verdict}\n\n${head}\n${rows.map(printed).join('\n')}\n\n${table}\n`);
}
process.exit(isLeaking || isGrowing || resident >= 2048 ? 1 : 0);
