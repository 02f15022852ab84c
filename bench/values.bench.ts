/** All libraries run every operation in turns, so that a busy machine affects all of them. */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { delimiter } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describeMachine } from './machine.js';
import { Driver } from './values/driver.js';
import { groups, type Operation } from './values/operations.js';
import { sharing } from './values/sharing.js';

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);
const REPETITIONS = 4;

const peers = ['dlpack', 'memcpy', 'fill', 'memset', 'numpy', 'torch'] as const;
type Peer = (typeof peers)[number];

interface Timing {
  readonly best: number;
  readonly median: number;
}

/** Results that are kept between runs of single groups. */
interface Results {
  sharing: number;
  versions: Record<string, string>;
  /** By group, then by number of threads. */
  rows: Record<string, Record<string, string[]>>;
}

function timingOf(seconds: readonly number[]): Timing | null {
  if (seconds.length === 0) return null;
  const sorted = [...seconds].sort((a, b) => a - b);
  return { best: sorted[0] as number, median: sorted[sorted.length >> 1] as number };
}

const root = fileURLToPath(new URL('../../', import.meta.url));
const ofProject = `${root}.venv/${process.platform === 'win32' ? 'Scripts/python.exe' : 'bin/python'}`;
/** DLPACK_PYTHON names a Python with NumPy and ml_dtypes on a machine without the project's own. */
const python = process.env.DLPACK_PYTHON ?? ofProject;

async function measure(threads: number, operations: readonly Operation[], results: Results): Promise<string[]> {
  const own = fileURLToPath(new URL('drivers/values.js', import.meta.url));
  const dlpack = new Driver(process.execPath, ['--expose-gc', own], { DLPACK_NUM_THREADS: String(threads) });
  const others = new Driver(python, [`${root}bench/drivers/values.py`, String(threads)], {
    PYTHONPATH: [`${root}build/torchvision`, process.env.PYTHONPATH].filter(Boolean).join(delimiter),
  });
  results.versions = { ...(await dlpack.read<object>()), ...(await others.read<object>()) } as Results['versions'];
  const lines: string[] = [];
  for (const op of operations) {
    const seconds: Record<Peer, number[]> = { dlpack: [], memcpy: [], fill: [], memset: [], numpy: [], torch: [] };
    // The first round warms up and is not counted.
    for (let round = 0; round <= ROUNDS; round++) {
      for (const peer of peers) {
        const driver = peer === 'dlpack' || peer === 'fill' ? dlpack : others;
        const answer = await driver.ask({ op, peer, repetitions: round === 0 ? 1 : REPETITIONS });
        if (round > 0 && answer !== null) seconds[peer].push(...answer);
      }
    }
    const timings = Object.fromEntries(peers.map((peer) => [peer, timingOf(seconds[peer])]));
    lines.push(row(op, timings as Record<Peer, Timing | null>));
    console.log(lines.at(-1));
  }
  dlpack.end();
  others.end();
  return lines;
}

const format = (seconds: number) => (seconds * 1e3).toFixed(seconds < 1e-3 ? 4 : 2);

function row(op: Operation, timings: Record<Peer, Timing | null>): string {
  const { dlpack, memcpy, fill, memset, numpy, torch } = timings;
  if (dlpack === null || memcpy === null || fill === null || memset === null || numpy === null) {
    throw new Error(`no time of ${op.name}`);
  }
  const write = Math.min(fill.best, memset.best);
  const bytes = ((op.readBits + op.writtenBits) / 8) * op.count;
  const speed = (timing: Timing, moved: number) => moved / timing.best / 1e9;
  const milliseconds = (timing: Timing) => `${format(timing.best)} / ${format(timing.median)}`;
  const against = (peer: Timing | null) =>
    peer === null ? '-' : `${milliseconds(peer)} (${(peer.median / dlpack.median).toFixed(1)}x)`;
  const limit = speed(memcpy, 8 * op.count);
  const cells = [
    op.name,
    milliseconds(dlpack),
    (bytes / 2 ** 20).toFixed(bytes < 2 ** 24 ? 2 : 0),
    speed(dlpack, bytes).toFixed(1),
    `${(speed(dlpack, bytes) / limit).toFixed(2)} of ${limit.toFixed(1)}`,
    against(numpy),
    `${format(write)} (${(numpy.best / write).toFixed(1)}x)`,
    against(torch),
  ];
  return `| ${cells.join(' | ')} |`;
}

const head = [
  '| operation | dlpack, ms | MiB moved | GB/s | of memcpy, GB/s | NumPy, ml_dtypes, ms | writing alone, ms | PyTorch, ms |',
  '|---|---|---|---|---|---|---|---|',
];

function pageOf({ sharing, versions, rows }: Results): string {
  const named = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  const lines = [
    '# Copies and casts',
    '',
    `${new Date().toISOString().slice(0, 10)}, ${describeMachine()}, ${process.platform} ${process.arch}.`,
    `Command: \`npm run bench -- values\` (\`node build/bench/values.bench.js GROUP:THREADS\` for a part; groups are ${Object.keys(groups).join(', ')}).`,
    `Versions: ${named.join(', ')}.`,
    '',
    `Times are the best and the median of ${ROUNDS * REPETITIONS} runs in milliseconds, taken in turns with the peers, so that the caches hold`,
    'what another has used. Ratios are of medians. Bandwidths are those of the best, which other users of the machine disturb least.',
    '',
    '- "Moved" counts each byte of source and result once; GB/s is that over the time.',
    "- memcpy is libc's, of as many float32 on as many threads in the same turns: the measured bandwidth of this memory.",
    '- A ratio behind a peer is its time in units of ours: above 1, this package is faster.',
    '- NumPy and ml_dtypes use one thread always, and have types below a byte in a byte each: "(padded)" is the same form here,',
    '  the others are packed. PyTorch has no casts for these. For images its column is torchvision, the result in new memory.',
    '- "Writing alone" is the faster of memset over the result, on as many threads, and `fill` of this package: about the least that',
    "  a cast can take. The ratio behind it is NumPy's time in units of it, the most that anyone could gain there.",
    '- "Fresh" allocates the result and releases it inside the measured time, as `astype` of all three does (memcpy and memset',
    "  then go into a new array of NumPy's). The system has to find and clear the pages first. Elsewhere results go into memory",
    '  that exists.',
    `- Two threads of integer multiplications take ${sharing.toFixed(1)} times as long side by side as one alone. 1 would mean two cores, 2 two`,
    '  threads of one core, which share its caches and its paths to memory.',
    '',
  ];
  for (const [name, { title }] of Object.entries(groups)) {
    for (const [threads, ofGroup] of Object.entries(rows[name] ?? {})) {
      const count = threads === '1' ? 'one thread' : `${threads} threads`;
      lines.push(`## ${title}, ${count}`, '', ...head, ...ofGroup, '');
    }
  }
  return lines.join('\n');
}

// Not under build/bench, which every build empties.
const kept = `${root}build/values-results.json`;
const wanted = process.argv.slice(2).map((argument) => argument.split(':') as [string, string?]);
for (const [name] of wanted) {
  if (!(name in groups))
    throw new Error(`expected groups among ${Object.keys(groups).join(', ')} but received ${name}`);
}
const isWanted = (name: string, threads: number) =>
  wanted.length === 0 || wanted.some(([group, count = threads]) => group === name && Number(count) === threads);
const results: Results =
  wanted.length > 0 && existsSync(kept)
    ? JSON.parse(readFileSync(kept, 'utf8'))
    : { sharing: 0, versions: {}, rows: {} };
results.sharing ||= await sharing();
for (const [name, { title, threads: kinds, operations }] of Object.entries(groups)) {
  for (const threads of kinds === 'one' ? [1] : new Set([1, availableParallelism()])) {
    if (!isWanted(name, threads)) continue;
    console.log(`${title}, ${threads} threads`);
    const lines = await measure(threads, operations, results);
    results.rows[name] = { ...results.rows[name], [threads]: lines };
    writeFileSync(kept, JSON.stringify(results));
  }
}
writeFileSync(`${root}bench/results/values.md`, pageOf(results));
