/**
 * One run of exchange.bench.ts: prints the times of both sides as JSON. Node and NumPy take turns.
 */

import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { DLPACK, fromDLPack, type ManagedTensor, Tensor } from 'dlpack';
import { DLManagedTensorVersioned, encodeManagedTensorVersioned, layoutOf, lp64 } from 'dlpack/abi';
import { addressOf, exportManaged, importManaged, releaseManaged } from 'dlpack/native';
import { sample, summarise, type Timing } from '../measure.js';
import type { Run } from '../runs.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const ROUNDS = 2;
const IMPORTS = 100;
let deletedCount = 0;

interface Peer {
  makeLean(): bigint;
  deleteAll(addresses: BigUint64Array): void;
}
const peer: Peer = createRequire(import.meta.url)('../../native/peer.node');

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
  // The ArrayBuffer is detached, and the memory is free before `dispose` returns.
  'Tensor.empty, data, dispose': (n) => {
    for (let i = 0; i < n; i++) {
      const made = Tensor.empty([2, 3], 'float32');
      sink = made.data;
      made.dispose();
    }
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

const ours = new Map<string, number[]>();
const theirs = new Map<string, number[]>();
const add = (times: Map<string, number[]>, name: string, more: readonly number[]) =>
  times.set(name, [...(times.get(name) ?? []), ...more]);
let versions: Record<string, string> = {};

for (const batch of Object.values(operations)) sample(batch, 100_000, 3);
for (const [make, use] of Object.values(imports)) sampleImports(make, use, IMPORTS, 8);
for (let round = 0; round < ROUNDS; round++) {
  for (const [name, batch] of Object.entries(operations)) add(ours, name, sample(batch, 100_000, 5));
  for (const [name, [make, use]] of Object.entries(imports)) add(ours, name, sampleImports(make, use, IMPORTS, 8));
  for (const [name, size] of Object.entries(SIZES)) {
    writeStruct(size);
    add(ours, name, sample(importStruct, 20_000, 5));
  }
  const python = pythonSamples();
  versions = python.versions;
  for (const [name, samples] of Object.entries(python.times)) add(theirs, name, samples);
}
const timings = (times: Map<string, number[]>): Record<string, Timing> =>
  Object.fromEntries([...times].map(([name, samples]) => [name, summarise(samples)]));
const run: Run = { ours: timings(ours), theirs: timings(theirs), versions };
console.log(JSON.stringify(run));
void sink;
