/**
 * Calls through TVM-FFI: from Node and from Python, into the same libraries, in one run.
 *
 *   npm run bench -- tvm-ffi
 */

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Tensor } from 'dlpack';
import { type FFIFunction, getGlobalFunc, loadModule, toFunction } from 'dlpack/tvm-ffi';
import { sample, summarise } from './measure.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const ROUNDS = 5;
const kernelFile = `${root}build/kernels/kernels.so`;
const probeFile = `${root}build/kernels/probe.so`;

const sitePackages = readdirSync(`${root}.venv/lib`).map((name) => `${root}.venv/lib/${name}/site-packages`);
const testingFile = `${sitePackages[0]}/tvm_ffi/lib/libtvm_ffi_testing.so`;
loadModule(testingFile);
const addOne = loadModule(kernelFile).add_one as FFIFunction;
const makeTensor = loadModule(probeFile).make_tensor as FFIFunction;
const nop = getGlobalFunc('testing.nop');
const echo = getGlobalFunc('testing.echo');
const apply = getGlobalFunc('testing.apply');

const array = new Float32Array(6);
const x = Tensor.from(array, { shape: [2, 3] });
const vector = Tensor.from(array);
const wrapped = Tensor.wrap(array, { shape: [2, 3] });
const identity = toFunction((value: number) => value);

const operations: Record<string, (n: number) => void> = {
  'nop()': (n) => {
    for (let i = 0; i < n; i++) nop();
  },
  'nop(3 tensors)': (n) => {
    for (let i = 0; i < n; i++) nop(x, x, x);
  },
  'nop(3 arrays of the host language)': (n) => {
    for (let i = 0; i < n; i++) nop(wrapped, wrapped, wrapped);
  },
  'add_one(tensor, tensor)': (n) => {
    for (let i = 0; i < n; i++) addOne(vector, vector);
  },
  'echo(int)': (n) => {
    for (let i = 0; i < n; i++) echo(i);
  },
  'echo(float)': (n) => {
    for (let i = 0; i < n; i++) echo(0.5);
  },
  'echo(string of 5)': (n) => {
    for (let i = 0; i < n; i++) echo('hello');
  },
  'echo(string of 25)': (n) => {
    for (let i = 0; i < n; i++) echo('a string of 24 characters');
  },
  'echo(tensor)': (n) => {
    for (let i = 0; i < n; i++) (echo(x) as Tensor).dispose();
  },
  'make_tensor(6): a native tensor': (n) => {
    for (let i = 0; i < n; i++) (makeTensor(6) as Tensor).dispose();
  },
  'callback(int) from native code': (n) => {
    for (let i = 0; i < n; i++) apply(identity, i);
  },
};

interface PythonRun {
  readonly versions: Record<string, string>;
  readonly times: Record<string, number[]>;
}

function pythonSamples(): PythonRun {
  const args = ['-I', `${root}bench/drivers/tvm_ffi.py`, testingFile, kernelFile, probeFile];
  return JSON.parse(execFileSync(`${root}.venv/bin/python`, args, { encoding: 'utf8' }));
}

const ours = new Map<string, number[]>();
const theirs = new Map<string, number[]>();
const add = (times: Map<string, number[]>, name: string, more: readonly number[]) =>
  times.set(name, [...(times.get(name) ?? []), ...more]);
let versions: Record<string, string> = {};

for (const batch of Object.values(operations)) sample(batch, 50_000, 6);
for (let round = 0; round < ROUNDS; round++) {
  for (const [name, batch] of Object.entries(operations)) add(ours, name, sample(batch, 50_000, 7));
  const python = pythonSamples();
  versions = python.versions;
  for (const [name, samples] of Object.entries(python.times)) add(theirs, name, samples);
}

const show = (value: number | undefined) => (value === undefined ? '' : value.toFixed(0));
const names = [...new Set([...ours.keys(), ...theirs.keys()])];
const rows = names.map((name) => {
  const own = ours.has(name) ? summarise(ours.get(name) as number[]) : undefined;
  const peer = theirs.has(name) ? summarise(theirs.get(name) as number[]) : undefined;
  const ratio = own && peer ? (own.median / peer.median).toFixed(2) : '';
  const least = own && peer ? (own.min / peer.min).toFixed(2) : '';
  return `| ${name} | ${show(own?.median)} | ${show(own?.min)} | ${show(peer?.median)} | ${show(peer?.min)} | ${ratio} | ${least} |`;
});

const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
const report = `# Calls through TVM-FFI

Date ${new Date().toISOString().slice(0, 10)}; \`npm run bench -- tvm-ffi\`; ${cpus()[0]?.model.trim()}, ${cpus().length} cores; dlpack ${version}, Node ${process.versions.node}, ${Object.entries(
  versions,
)
  .map(([name, v]) => `${name} ${v}`)
  .join(', ')}.

Nanoseconds for one call into the same native function, medians and least of ${ROUNDS} rounds in which both sides took
turns. The ratio is to Python's tvm_ffi. Tensors are float32 of six elements; results are disposed. "Arrays of the host
language" are a wrapped Float32Array here and a NumPy array there.

| call | Node median | least | Python median | least | × Python | least |
|---|---|---|---|---|---|---|
${rows.join('\n')}

Published for other machines (upstream's benchmark and its Julia port, 2025): \`nop(3 tensors)\` Python 72 and 398, Julia 70;
\`nop()\` Julia 12; \`nop\` with NumPy arrays Python 298; with torch tensors Python 809; callbacks in Julia 100 to 300.
`;
writeFileSync(`${root}bench/results/tvm-ffi.md`, report);
console.log(report);
