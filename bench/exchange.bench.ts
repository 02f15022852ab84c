/**
 * Exchange: between our tensors, compared with NumPy between its own arrays, in one run.
 *
 *   npm run bench -- exchange
 */

import { execFileSync, fork } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { DLPACK, fromDLPack, type ManagedTensor, Tensor } from 'dlpack';
import { DLManagedTensorVersioned, encodeManagedTensorVersioned, layoutOf, lp64 } from 'dlpack/abi';
import { addressOf, exportManaged, importManaged, releaseManaged } from 'dlpack/native';
import { describeMachine } from './machine.js';
import { sample, summarise, type Timing } from './measure.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const ROUNDS = 5;
const IMPORTS = 100;
let deletedCount = 0;

interface Peer {
  makeLean(): bigint;
  deleteAll(addresses: BigUint64Array): void;
}
const peer: Peer = createRequire(import.meta.url)('../native/peer.node');

const x = Tensor.from(
  [
    [1, 2, 3],
    [4, 5, 6],
  ],
  { dtype: 'float32' },
);
const buffer = new Float32Array(6).buffer;
const foreign = {
  [DLPACK]: (): ManagedTensor => ({
    version: [1, 3],
    flags: 0,
    data: buffer,
    byteOffset: 0,
    shape: [2, 3],
    strides: [3, 1],
    dtype: { code: 2, bits: 32, lanes: 1 },
    device: { type: 1, id: 0 },
    deleter: null,
  }),
};

let sink: unknown;
const batch = new BigUint64Array(64);
const operations: Record<string, (n: number) => void> = {
  'fromDLPack(tensor), dispose': (n) => {
    for (let i = 0; i < n; i++) fromDLPack(x).dispose();
  },
  'fromDLPack(tensor), left to the collector': (n) => {
    for (let i = 0; i < n; i++) sink = fromDLPack(x);
  },
  'fromDLPack(foreign JavaScript object), dispose': (n) => {
    for (let i = 0; i < n; i++) fromDLPack(foreign).dispose();
  },
  // One call into the other addon for 64 deleters, because that call is part of the harness, not of the exchange.
  'exportManaged, deleter called from C': (n) => {
    for (let i = 0; i < n; i += batch.length) {
      for (let k = 0; k < batch.length; k++) batch[k] = exportManaged(x);
      peer.deleteAll(batch);
    }
  },
  'exportManaged, releaseManaged': (n) => {
    for (let i = 0; i < n; i++) releaseManaged(exportManaged(x));
  },
  'Tensor.empty, dispose': (n) => {
    for (let i = 0; i < n; i++) Tensor.empty([2, 3], 'float32').dispose();
  },
};

type Use = (addresses: bigint[]) => void;

/**
 * Times imports. The tensors to import are made before the clock starts, a few at a time, so that they are as fresh as
 * in a program.
 */
function sampleImports(make: () => bigint, use: Use, n: number, samples: number): number[] {
  const times: number[] = [];
  const addresses = new Array<bigint>(n).fill(0n);
  for (let s = 0; s < samples; s++) {
    let total = 0n;
    for (let turn = 0; turn < 50; turn++) {
      for (let i = 0; i < n; i++) addresses[i] = make();
      const start = process.hrtime.bigint();
      use(addresses);
      total += process.hrtime.bigint() - start;
    }
    times.push(Number(total) / n / 50);
  }
  return times;
}

const importAll: Use = (addresses) => {
  for (let i = 0; i < addresses.length; i++) importManaged(addresses[i] as bigint).dispose();
};
const deleted = new BigUint64Array(IMPORTS);
const imports: Record<string, [make: () => bigint, use: Use]> = {
  'importManaged (another addon’s tensor), dispose': [() => peer.makeLean(), importAll],
  'of that, the other addon’s own deleter': [
    () => (deleted[deletedCount++ % IMPORTS] = peer.makeLean()),
    () => peer.deleteAll(deleted),
  ],
  'importManaged (our own export), dispose': [() => exportManaged(x), importAll],
};

/** Imports of one struct without a deleter, over a part of a large block whose pages are never used. */
const region = Tensor.empty([2 ** 29], 'uint8');
const struct = Tensor.empty([layoutOf(DLManagedTensorVersioned, lp64).size + 8], 'uint8');
const structAddress = addressOf(struct);
const SIZES = { '1 KiB': 2 ** 10, '1 MiB': 2 ** 20, '64 MiB': 2 ** 26, '512 MiB': 2 ** 29 };

function writeStruct(size: number): void {
  const { buffer, byteOffset } = struct.data;
  const shape = structAddress + BigInt(struct.size - 8);
  new DataView(buffer).setBigInt64(byteOffset + struct.size - 8, BigInt(size), true);
  const dl_tensor = {
    data: addressOf(region),
    device: { device_type: 1, device_id: 0 },
    ndim: 1,
    dtype: { code: 1, bits: 8, lanes: 1 },
    shape,
    strides: 0n,
    byte_offset: 0n,
  };
  const managed = { version: { major: 1, minor: 3 }, manager_ctx: 0n, deleter: 0n, flags: 0n, dl_tensor };
  encodeManagedTensorVersioned(managed, { buffer, byteOffset, model: lp64 });
}

function importStruct(n: number): void {
  for (let i = 0; i < n; i++) importManaged(structAddress).dispose();
}

function pythonSamples(): { versions: Record<string, string>; times: Record<string, number[]> } {
  const python = `${root}.venv/bin/python`;
  if (!existsSync(python)) throw new Error('bench needs .venv: run npm test once');
  return JSON.parse(execFileSync(python, [`${root}bench/drivers/exchange.py`], { encoding: 'utf8' }));
}

const times = new Map<string, number[]>();
const add = (name: string, more: readonly number[]) => times.set(name, [...(times.get(name) ?? []), ...more]);
let versions: Record<string, string> = {};

for (const batch of Object.values(operations)) sample(batch, 100_000, 3);
for (const [make, use] of Object.values(imports)) sampleImports(make, use, IMPORTS, 8);
for (let round = 0; round < ROUNDS; round++) {
  for (const [name, batch] of Object.entries(operations)) add(name, sample(batch, 100_000, 5));
  for (const [name, [make, use]] of Object.entries(imports)) add(name, sampleImports(make, use, IMPORTS, 8));
  for (const [name, size] of Object.entries(SIZES)) {
    writeStruct(size);
    add(name, sample(importStruct, 20_000, 5));
  }
  const python = pythonSamples();
  versions = python.versions;
  for (const [name, samples] of Object.entries(python.times)) add(name, samples);
}

/** Bytes and times with one and with a million live tensors, in two processes that take turns. */
async function live(kind: string): Promise<{ bytes: number; alone: number; crowded: number }> {
  const script = fileURLToPath(new URL('./live.js', import.meta.url));
  const start = async (count: number) => {
    const child = fork(script, [kind, String(count)], { execArgv: ['--expose-gc'] });
    const answer = () =>
      new Promise<number>((resolve, reject) => {
        child.once('message', (value) => resolve(value as number));
        child.once('exit', (code) => reject(new Error(`live.js ${kind} ended with ${code}`)));
      }).finally(() => child.removeAllListeners('exit'));
    const bytes = await answer();
    const ask = () => {
      child.send('sample');
      return answer();
    };
    return { bytes, ask, end: () => child.disconnect() };
  };
  const [one, many] = [await start(1), await start(1_000_000)];
  const [alone, crowded]: [number[], number[]] = [[], []];
  for (let turn = 0; turn < 40; turn++) {
    alone.push(await one.ask());
    crowded.push(await many.ask());
  }
  one.end();
  many.end();
  return { bytes: many.bytes, alone: summarise(alone).median, crowded: summarise(crowded).median };
}

const reference = 'np.from_dlpack(array)';
const base = summarise(times.get(reference) as number[]);
const sizeRows = Object.keys(SIZES).map((name) => {
  const { median, min } = summarise(times.get(name) as number[]);
  times.delete(name);
  return `| ${name} | ${median.toFixed(0)} | ${min.toFixed(0)} |`;
});
const rows = [...times].map(([name, all]) => {
  const { median, min }: Timing = summarise(all);
  return `| ${name} | ${median.toFixed(0)} | ${min.toFixed(0)} | ${(median / base.median).toFixed(2)} |`;
});
const kinds = ['share', 'import', 'import-foreign', 'allocate'];
const liveRows: string[] = [];
for (const kind of kinds) {
  const { bytes, alone, crowded } = await live(kind);
  const ratio = (crowded / alone).toFixed(2);
  liveRows.push(`| ${kind} | ${bytes.toFixed(0)} | ${alone.toFixed(0)} | ${crowded.toFixed(0)} | ${ratio} |`);
}
const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
const report = `# Exchange

Date ${new Date().toISOString().slice(0, 10)}; \`npm run bench -- exchange\`; ${describeMachine()}; dlpack ${version}, Node ${process.versions.node}, ${Object.entries(
  versions,
)
  .map(([name, v]) => `${name} ${v}`)
  .join(', ')}.

Nanoseconds for one operation on a float32 tensor of shape 2 by 3, medians of ${ROUNDS} rounds in which both sides took
turns; the ratio is to NumPy's median for \`${reference}\` in the same run.

| operation | median | least | × NumPy |
|---|---|---|---|
${rows.join('\n')}

Imports by size: nanoseconds for one import of foreign memory and its release.

| size | median | least |
|---|---|---|
${sizeRows.join('\n')}

With a million live tensors: bytes for each (all of the process: JavaScript and native, without the elements), and
nanoseconds for one more exchange with one and with a million alive, medians of 40 turns that two processes took.

| kind | bytes each | ns, 1 alive | ns, 1,000,000 alive | ratio |
|---|---|---|---|---|
${liveRows.join('\n')}
`;
writeFileSync(`${root}bench/results/exchange.md`, report);
console.log(report);
void sink;
