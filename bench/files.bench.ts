/**
 * Files: a safetensors file of 2 GiB with 1000 tensors opened and read, an npy file, and writing, compared with Python
 * in one run.
 *
 *   npm run bench -- files
 */

import { type ChildProcess, execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PerformanceObserver } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { Tensor } from 'dlpack';
import { devices } from 'dlpack/cuda';
import { openNpySync, openSafetensorsSync, writeSafetensors } from 'dlpack/files';
import { describeTensor, openTensor } from 'dlpack/shared';
import { describeMachine } from './machine.js';
import { summarise, type Timing } from './measure.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const folder = mkdtempSync(join(process.env.BENCH_FOLDER ?? tmpdir(), 'dlpack-bench-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const model = join(folder, 'model.safetensors');
const array = join(folder, 'array.npy');
const TENSORS = 1000;
const EACH = 2 * 1024 * 1024;

/** Writes 2 GiB, so that every page is in the page cache. */
function makeFiles(): void {
  const header: Record<string, unknown> = {};
  for (let i = 0; i < TENSORS; i++) {
    header[`model.layers.${i}.self_attn.q_proj.weight`] = {
      dtype: 'F16',
      shape: [1024, 1024],
      data_offsets: [i * EACH, (i + 1) * EACH],
    };
  }
  const json = JSON.stringify(header);
  const text = json + ' '.repeat(63 - ((8 + json.length + 63) % 64));
  const file = openSync(model, 'w');
  writeSync(file, new Uint8Array(BigUint64Array.of(BigInt(text.length)).buffer));
  writeSync(file, text);
  const block = new Uint8Array(EACH).fill(60);
  for (let i = 0; i < TENSORS; i++) writeSync(file, block);
  closeSync(file);
  const dict = `{'descr': '|u1', 'fortran_order': False, 'shape': (${2 ** 31},), }`.padEnd(117);
  const npy = openSync(array, 'w');
  writeSync(npy, new Uint8Array([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, 118, 0]));
  writeSync(npy, `${dict}\n`);
  ftruncateSync(npy, 128 + 2 ** 31);
  closeSync(npy);
}

let majors = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if ((entry as { detail?: { kind?: number } }).detail?.kind === 4) majors++;
}).observe({ entryTypes: ['gc'] });

/** The private memory of this process, in bytes. */
function privateBytes(): number {
  const match = /^Private_Dirty:\s+(\d+) kB/m.exec(readFileSync('/proc/self/smaps_rollup', 'utf8'));
  return Number(match?.[1]) * 1024;
}

async function timed(action: () => void | Promise<void>, count: number): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < count; i++) {
    const start = process.hrtime.bigint();
    await action();
    times.push(Number(process.hrtime.bigint() - start));
  }
  return times;
}

const rows: Record<string, Timing> = {};
makeFiles();
Tensor.zeros([1], 'int8').dispose(); // loads the addon

const open = () => openSafetensorsSync(model).dispose();
const take = () => {
  const file = openSafetensorsSync(model);
  const tensors = file.names.map((name) => file.get(name));
  for (const tensor of tensors) tensor.dispose();
  file.dispose();
};
await timed(take, 20);
await new Promise((resolve) => setTimeout(resolve, 50));
rows.openSafetensors = summarise(await timed(open, 50));
rows['openSafetensors, get of all, dispose'] = summarise(await timed(take, 50));
await new Promise((resolve) => setTimeout(resolve, 50));
const [majorsBefore, privateBefore] = [majors, privateBytes()];
const kept = openSafetensorsSync(model);
const tensors = kept.names.map((name) => kept.get(name));
const grown = privateBytes() - privateBefore;
await new Promise((resolve) => setTimeout(resolve, 50));
const collections = majors - majorsBefore;
for (const tensor of tensors) tensor.dispose();
rows['openNpy, 2 GiB'] = summarise(await timed(() => openNpySync(array).dispose(), 50));

const written = Tensor.zeros([256 << 20], 'uint8');
written.fill(1);
const target = join(folder, 'written.safetensors');
const memory = written.data;
/** The same work without this package: a new file beside the old one, which then takes its name. */
const plain = (): void => {
  const beside = `${target}.new`;
  const file = openSync(beside, 'w');
  for (let at = 0; at < memory.length; ) at += writeSync(file, memory, at, Math.min(2 << 20, memory.length - at));
  closeSync(file);
  renameSync(beside, target);
};
const writing: { ours: number[]; plain: number[] } = { ours: [], plain: [] };
// In turns, because the disk and the page cache are faster at some times than at others.
for (let round = 0; round < 9; round++) {
  writing.ours.push(...(await timed(() => writeSafetensors(target, { written }), 1)));
  writing.plain.push(...(await timed(plain, 1)));
}
rows['writeSafetensors, 256 MiB'] = summarise(writing.ours);
rows['writeSync of the same bytes into a new file, renamed'] = summarise(writing.plain);

/** Untouched memory made, shared, opened and released, by its size. */
const sharing: Record<string, Timing> = {};
for (const [name, nbytes] of [
  ['1 MiB', 2 ** 20],
  ['256 MiB', 2 ** 28],
  ['10 GiB', 10 * 2 ** 30],
] as const) {
  const cycle = () => {
    const x = Tensor.empty([nbytes], 'uint8', { shareable: true });
    openTensor(describeTensor(x, { copy: false })).dispose();
    x.dispose();
  };
  await timed(cycle, 200);
  sharing[name] = summarise(await timed(cycle, 500));
}

/** 256 MiB to another process or thread, until it answers with the last value. */
const carrying: Record<string, Timing> = {};
{
  const script = fileURLToPath(new URL('./drivers/files-receiver.js', import.meta.url));
  const shared = Tensor.empty([256 << 20], 'uint8', { shareable: true });
  shared.copyFrom(written);
  // A description is plain JSON, which `process.send` takes as it is. Bytes need the other serialization.
  const child = fork(script);
  const byteChild = fork(script, [], { serialization: 'advanced' });
  const worker = new Worker(script);
  const answer = async (from: ChildProcess | Worker, send: () => void): Promise<void> => {
    const answered = once(from as ChildProcess, 'message');
    send();
    await answered;
  };
  const byDescription = (isShown: boolean) =>
    answer(child, () => child.send({ description: describeTensor(shared, { copy: false }), isShown }));
  for (const [isShown, way] of [
    [false, 'get'],
    [true, 'data'],
  ] as const) {
    await timed(() => byDescription(isShown), 50);
    const times = await timed(() => byDescription(isShown), 100);
    carrying[`shareTensor, process.send, openTensor, ${way}, dispose`] = summarise(times);
  }
  carrying['a short message and its answer, for comparison'] = summarise(
    await timed(() => answer(child, () => child.send({ bytes: [7] })), 100),
  );
  carrying['process.send of the bytes'] = summarise(
    await timed(() => answer(byteChild, () => byteChild.send({ bytes: memory })), 3),
  );
  carrying['worker.postMessage of the bytes'] = summarise(
    await timed(() => answer(worker, () => worker.postMessage({ bytes: memory })), 5),
  );
  child.kill();
  byteChild.kill();
  await worker.terminate();
  shared.dispose();
}

let pinned: Timing | null = null;
let hasDevice = false;
try {
  hasDevice = devices().length > 0;
} catch {
  // There is no driver.
}
if (hasDevice) {
  const one = join(folder, 'one.safetensors');
  {
    using large = Tensor.zeros([2 ** 30], 'uint8');
    large.fill(1);
    await writeSafetensors(one, { large });
  }
  /** Times of uploads. The tensors are released while the clock stands. */
  const uploads = async (load: () => Promise<Iterable<Tensor>>, count: number): Promise<number[]> => {
    const times: number[] = [];
    for (let i = 0; i < count; i++) {
      const start = process.hrtime.bigint();
      const loaded = await load();
      times.push(Number(process.hrtime.bigint() - start));
      for (const tensor of loaded) tensor.dispose();
    }
    return times;
  };
  const device = { device: 'cuda:0' } as const;
  const single = openSafetensorsSync(one);
  const loadAll = async () => (await kept.getAllAsync(device)).values();
  const loadOne = async () => [await single.getAsync('large', device)];
  await uploads(loadAll, 1);
  await uploads(loadOne, 1);
  const [from, to] = [
    Tensor.empty([2 ** 30], 'uint8', { device: 'cuda_host' }),
    Tensor.empty([2 ** 30], 'uint8', { device: 'cuda:0' }),
  ];
  from.data.fill(1);
  const copies = await timed(() => void to.copyFrom(from), 6);
  pinned = summarise(copies.map((ns) => (ns * TENSORS * EACH) / 2 ** 30));
  from.dispose();
  to.dispose();
  rows["getAllAsync({ device: 'cuda:0' }), 2 GiB"] = summarise(await uploads(loadAll, 9));
  rows["getAsync(name, { device: 'cuda:0' }), 1 GiB"] = summarise(await uploads(loadOne, 9));
  single.dispose();
}
kept.dispose();

const python =
  process.env.DLPACK_PYTHON ?? join(root, '.venv', process.platform === 'win32' ? 'Scripts/python.exe' : 'bin/python');
const peers = JSON.parse(
  execFileSync(python, [join(root, 'bench/drivers/files.py'), model, array, folder], {
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  }),
) as { times: Record<string, number[]>; versions: Record<string, string> };
for (const [name, times] of Object.entries(peers.times)) rows[`Python: ${name}`] = summarise(times);

const milliseconds = (ns: number): string => (ns / 1e6).toFixed(ns < 1e7 ? 2 : 0);
const micro = (ns: number): string => (ns / 1e3).toFixed(1);
const fine = (ns: number): string => (ns / 1e6).toFixed(ns < 1e7 ? 3 : 0);
if (pinned !== null) rows['one copy of the same bytes from pinned memory'] = pinned;

/** The figures that were promised, from the medians. */
interface Figure {
  readonly what: string;
  readonly value: number;
  readonly limit: number;
  readonly isLeast: boolean;
}
const figures: Figure[] = [];
const atMost = (what: string, value: number, limit: number) => figures.push({ what, value, limit, isLeast: false });
const atLeast = (what: string, value: number, limit: number) => figures.push({ what, value, limit, isLeast: true });
const median = (timings: Record<string, Timing>, name: string): number => (timings[name] as Timing).median;
atMost('openSafetensors, ms', median(rows, 'openSafetensors') / 1e6, 1.5);
atMost('openSafetensors, get of all, dispose, ms', median(rows, 'openSafetensors, get of all, dispose') / 1e6, 10);
atMost('major collections while 1000 tensors are taken', collections, 0);
atMost('private memory of 1000 tensors, MiB', grown / 2 ** 20, 1);
atMost('openNpy, ms', median(rows, 'openNpy, 2 GiB') / 1e6, 0.3);
const ratios = writing.plain.map((plain, i) => plain / (writing.ours[i] as number));
atLeast('writing, of writeSync, in turns', summarise(ratios).median, 0.9);
if (pinned !== null) {
  const all = median(rows, "getAllAsync({ device: 'cuda:0' }), 2 GiB");
  const one = (median(rows, "getAsync(name, { device: 'cuda:0' }), 1 GiB") * TENSORS * EACH) / 2 ** 30;
  atLeast('all tensors to the GPU, of pinned bandwidth', pinned.median / all, 0.9);
  atLeast('one tensor to the GPU, of pinned bandwidth', pinned.median / one, 0.9);
}
const cycles = Object.values(sharing).map((timing) => timing.median);
atMost('share, open and release of untouched memory, µs', Math.max(...cycles) / 1e3, 60);
const carried = median(carrying, 'shareTensor, process.send, openTensor, get, dispose');
atMost('256 MiB, of process.send', carried / median(carrying, 'process.send of the bytes'), 0.001);
atMost('256 MiB, of worker.postMessage', carried / median(carrying, 'worker.postMessage of the bytes'), 0.001);
const number = (value: number): string => String(Number(value.toPrecision(3)));
const figureRow = ({ what, value, limit, isLeast }: Figure): string => {
  const holds = isLeast ? value >= limit : value <= limit;
  return `| ${what} | ${number(value)} | ${isLeast ? 'at least' : 'at most'} ${limit} | ${holds ? 'yes' : 'no'} |`;
};
const lines = [
  '# Files, beside Python',
  '',
  `${new Date().toISOString().slice(0, 10)}, ${describeMachine()}, Node ${process.versions.node}, ` +
    Object.entries(peers.versions)
      .map(([name, version]) => `${name} ${version}`)
      .join(', '),
  '',
  '| figure, of medians | measured | limit | holds |',
  '|---|---|---|---|',
  ...figures.map(figureRow),
  '',
  '## Files',
  '',
  'A safetensors file of 2 GiB with 1000 float16 tensors, in the page cache. Milliseconds, and the least of all samples.',
  '',
  '| | median | least |',
  '|---|---|---|',
  ...Object.entries(rows).map(
    ([name, { median, min }]) => `| ${name} | ${milliseconds(median)} | ${milliseconds(min)} |`,
  ),
  '',
  `One file opened and its 1000 tensors kept: ${collections} major collections, ${(grown / 2 ** 20).toFixed(1)} MiB more private memory.`,
  '',
  '## Memory for other processes',
  '',
  'Untouched memory: `Tensor.empty` with `shareable`, `shareTensor`, `openTensor`, and both disposed. Microseconds.',
  '',
  '| | median | least |',
  '|---|---|---|',
  ...Object.entries(sharing).map(([name, { median, min }]) => `| ${name} | ${micro(median)} | ${micro(min)} |`),
  '',
  '256 MiB to another process, or to a worker, until it answers with the last value. Milliseconds.',
  '',
  '| | median | least |',
  '|---|---|---|',
  ...Object.entries(carrying).map(([name, { median, min }]) => `| ${name} | ${fine(median)} | ${fine(min)} |`),
  '',
];
const results = join(root, 'bench/results');
if (existsSync(results)) writeFileSync(join(results, 'files.md'), lines.join('\n'));
console.log(lines.join('\n'));
