/**
 * Files: a safetensors file of 2 GiB with 1000 tensors opened and read, an npy file, and writing, compared with Python
 * in one run.
 *
 *   npm run bench -- files
 */

import { execFileSync } from 'node:child_process';
import {
  closeSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PerformanceObserver } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { Tensor } from 'dlpack';
import { devices } from 'dlpack/cuda';
import { openNpy, openSafetensors, writeSafetensors } from 'dlpack/files';
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

const open = () => openSafetensors(model).close();
const take = () => {
  const file = openSafetensors(model);
  const tensors = file.names.map((name) => file.get(name));
  for (const tensor of tensors) tensor.dispose();
  file.close();
};
await timed(take, 20);
await new Promise((resolve) => setTimeout(resolve, 50));
rows.openSafetensors = summarise(await timed(open, 50));
rows['openSafetensors, get of all, dispose'] = summarise(await timed(take, 50));
await new Promise((resolve) => setTimeout(resolve, 50));
const [majorsBefore, privateBefore] = [majors, privateBytes()];
const kept = openSafetensors(model);
const tensors = kept.names.map((name) => kept.get(name));
const grown = privateBytes() - privateBefore;
await new Promise((resolve) => setTimeout(resolve, 50));
const collections = majors - majorsBefore;
for (const tensor of tensors) tensor.dispose();
rows['openNpy, 2 GiB'] = summarise(await timed(() => openNpy(array).dispose(), 50));

const written = Tensor.zeros([256 << 20], 'uint8');
const target = join(folder, 'written.safetensors');
rows['writeSafetensors, 256 MiB'] = summarise(await timed(() => writeSafetensors(target, { written }), 5));
const memory = written.data;
const plain = (): void => {
  const file = openSync(target, 'w');
  for (let at = 0; at < memory.length; ) at += writeSync(file, memory, at, Math.min(16 << 20, memory.length - at));
  closeSync(file);
};
rows['writeSync of the same bytes'] = summarise(await timed(plain, 5));

let hasDevice = false;
try {
  hasDevice = devices().length > 0;
} catch {
  // There is no driver.
}
if (hasDevice) {
  const upload = async () => {
    const all = await kept.getAllAsync({ device: 'cuda:0' });
    for (const tensor of all.values()) tensor.dispose();
  };
  await upload();
  rows["getAllAsync({ device: 'cuda:0' }), 2 GiB"] = summarise(await timed(upload, 5));
}
kept.close();

const python = join(root, '.venv', process.platform === 'win32' ? 'Scripts/python.exe' : 'bin/python');
const peers = JSON.parse(
  execFileSync(python, [join(root, 'bench/drivers/files.py'), model, array, folder], {
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  }),
) as { times: Record<string, number[]>; versions: Record<string, string> };
for (const [name, times] of Object.entries(peers.times)) rows[`Python: ${name}`] = summarise(times);

const milliseconds = (ns: number): string => (ns / 1e6).toFixed(ns < 1e7 ? 2 : 0);
const lines = [
  '# Files, beside Python',
  '',
  `${new Date().toISOString().slice(0, 10)}, ${describeMachine()}, Node ${process.versions.node}, ` +
    Object.entries(peers.versions)
      .map(([name, version]) => `${name} ${version}`)
      .join(', '),
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
];
writeFileSync(join(root, 'bench/results/files.md'), lines.join('\n'));
console.log(lines.join('\n'));
