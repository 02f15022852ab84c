/**
 * Copies and casts against NumPy, ml_dtypes, PyTorch and memcpy, side by side: `node build/bench/values.bench.js` writes
 * bench/results/values.md. Every operation is run in turns by all of them, so that a busy machine is busy for all.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export interface Operation {
  readonly name: string;
  readonly kind: 'copy' | 'fresh' | 'permute' | 'cast';
  /** Bits of an element that are read and written: what has to move at least. */
  readonly bits: number;
  readonly from?: string;
  readonly to?: string;
  readonly shape?: readonly number[];
  readonly axes?: readonly number[];
  readonly count: number;
  /** How often a repetition does it: what is short is timed together. */
  readonly times: number;
}

const LARGE = { count: 2 ** 24, times: 1 };
const SMALL = { count: 2 ** 18, times: 50 };
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 10);
const REPETITIONS = 4;

function cast(from: string, to: string, bits: number, size = LARGE): Operation {
  const name = `${from} to ${to}${size === LARGE ? '' : ', 2^18 elements'}`;
  return { name, kind: 'cast', from, to, bits, ...size };
}

function permute(name: string, shape: number[], axes: number[]): Operation {
  return { name, kind: 'permute', shape, axes, bits: 64, ...LARGE };
}

const operations: readonly Operation[] = [
  { name: 'copy of 64 MiB into existing memory', kind: 'copy', bits: 64, ...LARGE },
  { name: 'copy of 64 MiB into fresh memory', kind: 'fresh', to: 'float32', bits: 64, ...LARGE },
  permute('transpose of 4096 x 4096 float32', [4096, 4096], [1, 0]),
  permute('permutation (2, 0, 1) of 256 x 256 x 256 float32', [256, 256, 256], [2, 0, 1]),
  permute('permutation (1, 2, 0) of 256 x 256 x 256 float32', [256, 256, 256], [1, 2, 0]),
  permute('permutation (2, 1, 0) of 256 x 256 x 256 float32', [256, 256, 256], [2, 1, 0]),
  cast('bfloat16', 'float32', 48),
  cast('float32', 'bfloat16', 48),
  cast('float16', 'float32', 48),
  cast('float32', 'float16', 48),
  cast('float8_e4m3fn', 'float32', 40),
  cast('float32', 'float8_e4m3fn', 40),
  cast('float4_e2m1fn', 'float32', 36),
  cast('int4', 'float32', 36),
  cast('float6_e2m3fn', 'float32', 38),
  cast('float6_e3m2fn', 'float32', 38),
  cast('float4_e2m1fn', 'float32', 36, SMALL),
  cast('int4', 'float32', 36, SMALL),
  cast('float6_e2m3fn', 'float32', 38, SMALL),
  cast('float6_e3m2fn', 'float32', 38, SMALL),
];

type Peer = 'dlpack' | 'memcpy' | 'numpy' | 'torch';

/** A process that answers requests, one line each. */
class Driver {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  constructor(command: string, args: string[], env: Record<string, string> = {}) {
    this.#child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, ...env } });
    const { stdout } = this.#child;
    if (stdout === null) throw new Error('a driver without output');
    this.#lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
  }

  async read<T>(): Promise<T> {
    const { value, done } = await this.#lines.next();
    if (done) throw new Error('a driver ended early');
    return JSON.parse(value) as T;
  }

  ask(request: object): Promise<number[] | null> {
    this.#child.stdin?.write(`${JSON.stringify(request)}\n`);
    return this.read();
  }

  end(): void {
    this.#child.stdin?.end();
  }
}

interface Timing {
  readonly best: number;
  readonly median: number;
}

function timingOf(seconds: readonly number[]): Timing | null {
  if (seconds.length === 0) return null;
  const sorted = [...seconds].sort((a, b) => a - b);
  return { best: sorted[0] as number, median: sorted[sorted.length >> 1] as number };
}

const root = fileURLToPath(new URL('../../', import.meta.url));
const python = `${root}.venv/${process.platform === 'win32' ? 'Scripts/python.exe' : 'bin/python'}`;

async function measure(threads: number): Promise<{ versions: Record<string, string>; lines: string[] }> {
  const own = fileURLToPath(new URL('drivers/values.js', import.meta.url));
  const dlpack = new Driver(process.execPath, ['--expose-gc', own], { DLPACK_NUM_THREADS: String(threads) });
  const peers = new Driver(python, [`${root}bench/drivers/values.py`, String(threads)]);
  const versions = { ...(await dlpack.read<object>()), ...(await peers.read<object>()) } as Record<string, string>;
  const lines: string[] = [];
  for (const op of operations) {
    const seconds: Record<Peer, number[]> = { dlpack: [], memcpy: [], numpy: [], torch: [] };
    // The first round warms up and is not counted.
    for (let round = 0; round <= ROUNDS; round++) {
      for (const peer of ['dlpack', 'memcpy', 'numpy', 'torch'] as const) {
        const driver = peer === 'dlpack' ? dlpack : peers;
        const answer = await driver.ask({ op, peer, repetitions: round === 0 ? 1 : REPETITIONS });
        if (round > 0 && answer !== null) seconds[peer].push(...answer);
      }
    }
    lines.push(
      row(op, timingOf(seconds.dlpack), timingOf(seconds.memcpy), timingOf(seconds.numpy), timingOf(seconds.torch)),
    );
    console.log(lines.at(-1));
  }
  dlpack.end();
  peers.end();
  return { versions, lines };
}

const format = (seconds: number) => (seconds * 1e3).toFixed(seconds < 1e-3 ? 3 : 1);

function row(
  op: Operation,
  own: Timing | null,
  memcpy: Timing | null,
  numpy: Timing | null,
  torch: Timing | null,
): string {
  if (own === null || memcpy === null) throw new Error(`no timing for ${op.name}`);
  const bytes = (op.bits / 8) * op.count;
  const speed = (timing: Timing, moved: number) => moved / timing.best / 1e9;
  const milliseconds = (timing: Timing) => `${format(timing.best)} / ${format(timing.median)}`;
  const against = (peer: Timing | null) =>
    peer === null ? '-' : `${milliseconds(peer)} (${(peer.best / own.best).toFixed(1)}x)`;
  const limit = speed(memcpy, 8 * op.count);
  const cells = [
    op.name,
    milliseconds(own),
    (bytes / 2 ** 20).toFixed(bytes < 2 ** 24 ? 1 : 0),
    speed(own, bytes).toFixed(1),
    `${(speed(own, bytes) / limit).toFixed(2)} of ${limit.toFixed(1)}`,
    against(numpy),
    against(torch),
  ];
  return `| ${cells.join(' | ')} |`;
}

const head = [
  '| operation | dlpack, ms | MiB moved | GB/s | of memcpy, GB/s | NumPy, ml_dtypes, ms | PyTorch, ms |',
  '|---|---|---|---|---|---|---|',
];

const counts = [...new Set([1, availableParallelism()])];
const sections: string[] = [];
let versions: Record<string, string> = {};
for (const threads of counts) {
  console.log(`${threads} threads`);
  const result = await measure(threads);
  versions = result.versions;
  sections.push(`## ${threads === 1 ? 'One thread' : `${threads} threads`}`, '', ...head, ...result.lines, '');
}
const page = [
  '# Copies and casts',
  '',
  `${new Date().toISOString().slice(0, 10)}, ${cpus()[0]?.model.trim()}, ${availableParallelism()} cores, ${process.platform} ${process.arch}.`,
  `Command: \`node build/bench/values.bench.js\`. Versions: ${Object.entries(versions)
    .map(([name, version]) => `${name} ${version}`)
    .join(', ')}.`,
  '',
  'Arrays have 2^24 elements where nothing else is said. Times are the best and the median of',
  `${ROUNDS * REPETITIONS} runs, taken in turns with the peers, so that the caches hold what another has used; ratios and bandwidths are`,
  'those of the best, which other users of the machine disturb least. "Moved" counts each source and target byte once. memcpy is',
  "libc's, of as many float32, on as many threads, in the same turns. A ratio behind a peer is its",
  'time in units of ours: above 1, this package is faster. NumPy uses one thread always, and types below a byte lie in a byte',
  'each there; PyTorch has no casts for them. Except for "fresh memory", everything writes into memory that exists.',
  '',
  ...sections,
].join('\n');
writeFileSync(`${root}bench/results/values.md`, page);
