/**
 * TVM-FFI calls from Node and from Python, into the same libraries, in one run.
 *
 *   npm run bench -- tvm-ffi
 */

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Tensor } from 'dlpack';
import {
  ArrayView,
  Dict,
  type FFIFunction,
  getGlobalFunc,
  List,
  loadModule,
  objectClass,
  toFunction,
} from 'dlpack/tvm-ffi';
import { describeMachine } from './machine.js';
import { sample, summarise } from './measure.js';
import { sources, upstreamRows } from './tvm-ffi-upstream.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const ROUNDS = 5;
const kernelFile = `${root}build/kernels/kernels.so`;
const probeFile = `${root}build/kernels/probe.so`;

const sitePackages = readdirSync(`${root}.venv/lib`).map((name) => `${root}.venv/lib/${name}/site-packages`);
const testingFile = `${sitePackages[0]}/tvm_ffi/lib/libtvm_ffi_testing.so`;
loadModule(testingFile);
const addOne = loadModule(kernelFile).add_one as FFIFunction;
const { make_tensor: makeTensor, invoke_times: invokeTimes } =
  loadModule<Record<'make_tensor' | 'invoke_times', FFIFunction>>(probeFile);
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

const Pair = objectClass<{ a: number; sum(): number }>('testing.TestIntPair');
const pair = new Pair(1, 2);
const list = new List([1, 2, 3]);
const view = new ArrayView([1, 2, 3]);
const dict = new Dict([['key', 1]]);

const objectOperations: Record<string, (n: number) => void> = {
  'pair.a: a field': (n) => {
    for (let i = 0; i < n; i++) pair.a;
  },
  'pair.sum(): a method': (n) => {
    for (let i = 0; i < n; i++) pair.sum();
  },
  'Pair(1, 2): a new object': (n) => {
    for (let i = 0; i < n; i++) new Pair(1, 2);
  },
  'echo(pair): an object there and back': (n) => {
    for (let i = 0; i < n; i++) echo(pair);
  },
  'echo(list): a list there and back': (n) => {
    for (let i = 0; i < n; i++) echo(list);
  },
  'echo(function): a function there and back': (n) => {
    for (let i = 0; i < n; i++) echo(identity);
  },
  'an element of a list': (n) => {
    for (let i = 0; i < n; i++) list.at(1);
  },
  'an element of a list, set': (n) => {
    for (let i = 0; i < n; i++) list.set(1, i);
  },
  'an element of an array': (n) => {
    for (let i = 0; i < n; i++) view.at(1);
  },
  'a value of a dict': (n) => {
    for (let i = 0; i < n; i++) dict.get('key');
  },
};

interface PythonRun {
  readonly versions: Record<string, string>;
  readonly times: Record<string, number[]>;
  readonly objects: Record<string, number[]>;
  readonly upstream: Record<string, number[]>;
}

function pythonSamples(): PythonRun {
  const args = ['-I', `${root}bench/drivers/tvm_ffi.py`, testingFile, kernelFile, probeFile];
  return JSON.parse(execFileSync(`${root}.venv/bin/python`, args, { encoding: 'utf8' }));
}

/** Samples of one table, from both sides. */
class Table {
  private readonly ours = new Map<string, number[]>();
  private readonly theirs = new Map<string, number[]>();
  private readonly batches: readonly (readonly [string, (n: number) => void])[];

  constructor(batches: Iterable<readonly [string, (n: number) => void]>) {
    this.batches = [...batches];
    for (const [, batch] of this.batches) sample(batch, 20_000, 6);
  }

  round(python: Record<string, number[]>): void {
    for (const [name, batch] of this.batches) add(this.ours, name, sample(batch, 20_000, 9));
    for (const [name, samples] of Object.entries(python)) add(this.theirs, name, samples);
  }

  /** The cells of a row: Node's median and minimum, Python's, and both ratios. */
  cells(name: string): string {
    const own = this.ours.has(name) ? summarise(this.ours.get(name) as number[]) : undefined;
    const peer = this.theirs.has(name) ? summarise(this.theirs.get(name) as number[]) : undefined;
    const ratio = own && peer ? (own.median / peer.median).toFixed(2) : '';
    const least = own && peer ? (own.min / peer.min).toFixed(2) : '';
    return [show(own?.median), show(own?.min), show(peer?.median), show(peer?.min), ratio, least].join(' | ');
  }

  /** The ratio of Node's time for one row to Python's time for another: of medians, and of minimums. */
  against(name: string, other: string): string {
    const own = summarise(this.ours.get(name) as number[]);
    const peer = summarise(this.theirs.get(other) ?? []);
    return `${(own.median / peer.median).toFixed(2)} (least ${(own.min / peer.min).toFixed(2)})`;
  }

  get names(): string[] {
    return [...new Set([...this.batches.map(([name]) => name), ...this.theirs.keys()])];
  }
}

const add = (times: Map<string, number[]>, name: string, more: readonly number[]) =>
  times.set(name, [...(times.get(name) ?? []), ...more]);
const show = (value: number | undefined) => (value === undefined ? '' : value.toFixed(0));

const upstream = upstreamRows(nop, invokeTimes);
const calls = new Table(Object.entries(operations));
const objects = new Table(Object.entries(objectOperations));
const rows = new Table(
  Object.entries(upstream).flatMap(([name, { here }]) => (here ? [[name, here.batch] as const] : [])),
);
let versions: Record<string, string> = {};
for (let round = 0; round < ROUNDS; round++) {
  const python = pythonSamples();
  versions = python.versions;
  calls.round(python.times);
  objects.round(python.objects);
  rows.round(python.upstream);
}

const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
const named = Object.entries(versions).map(([name, v]) => `${name} ${v}`);
const report = `# Calls through TVM-FFI

Date ${new Date().toISOString().slice(0, 10)}; \`npm run bench -- tvm-ffi\`; ${describeMachine()}; dlpack ${version}, Node ${process.versions.node}, ${named.join(', ')}.

Nanoseconds for one call into the same native function, medians and least of ${ROUNDS} rounds in which both sides took
turns. The ratio is to Python's tvm_ffi. Tensors are float32 of six elements; results are disposed. "Arrays of the host
language" are a wrapped Float32Array here and a NumPy array there. Where the machine changes its speed or does
other work meanwhile, medians suffer, by different amounts on either side: the ratio of the least is the one to go by.

| call | Node median | least | Python median | least | × Python | least |
|---|---|---|---|---|---|---|
${calls.names.map((name) => `| ${name} | ${calls.cells(name)} |`).join('\n')}

\`nop(3 tensors)\` is ${calls.against('nop(3 tensors)', 'nop(3 torch tensors)')} × what Python takes for it with torch tensors.

## Objects and containers

Objects of the testing library, and lists, arrays and dicts of three elements at most. New objects are left to the collector.

| operation | Node median | least | Python median | least | × Python | least |
|---|---|---|---|---|---|---|
${objects.names.map((name) => `| ${name} | ${objects.cells(name)} |`).join('\n')}

## Upstream's benchmark, row by row

The rows of apache/tvm-ffi \`tests/scripts/benchmark_dlpack.py\` and \`benchmark_pycallback.py\` that need no GPU, measured in the same
run as above; tensors of one element. Python runs what upstream's script runs. Where this package has an operation of the same
purpose its own figure stands beside it, and the second column says what it is.

| row | in Node | Node median | least | Python median | least | × Python | least | published Python 2025-05 | published Python 2025-11 | published Julia 2025-11 |
|---|---|---|---|---|---|---|---|---|---|---|
${Object.entries(upstream)
  .map(([name, { here, published = [] }]) => {
    const figures = [0, 1, 2].map((i) => published[i] ?? '').join(' | ');
    return `| ${name} | ${here?.what ?? ''} | ${rows.cells(name)} | ${figures} |`;
  })
  .join('\n')}

${sources} Also there: Julia's \`nop()\` 11 and \`func(Int64)\` 20; a Julia callback 161, with an integer 210.
`;
writeFileSync(`${root}bench/results/tvm-ffi.md`, report);
console.log(report);
