/**
 * One run of tvm-ffi.bench.ts: prints the times of both sides as JSON. Node and Python take turns.
 */

import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
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
import { sample, summarise, type Timing } from '../measure.js';
import type { Run } from '../runs.js';
import { upstreamRows } from '../tvm-ffi-upstream.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const ROUNDS = 2;
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

/** What the driver prints: one table for each part of the page. */
export type Tables = Record<'calls' | 'objects' | 'upstream', Run>;

const upstreamOperations = Object.fromEntries(
  Object.entries(upstreamRows(nop, invokeTimes)).flatMap(([name, { here }]) => (here ? [[name, here.batch]] : [])),
);
const parts = {
  calls: { operations, of: 'times' },
  objects: { operations: objectOperations, of: 'objects' },
  upstream: { operations: upstreamOperations, of: 'upstream' },
} as const;
const times = new Map<string, number[]>();
const add = (key: string, more: readonly number[]) => times.set(key, [...(times.get(key) ?? []), ...more]);
for (const part of Object.values(parts)) {
  for (const batch of Object.values(part.operations)) sample(batch, 20_000, 6);
}
let python: PythonRun | null = null;
for (let round = 0; round < ROUNDS; round++) {
  python = pythonSamples();
  for (const [part, { operations, of }] of Object.entries(parts)) {
    for (const [name, batch] of Object.entries(operations)) {
      batch(400_000); // until V8 has optimised the call for this row, which the row before may have undone
      add(`${part} ours ${name}`, sample(batch, 20_000, 9));
    }
    for (const [name, samples] of Object.entries(python[of])) add(`${part} theirs ${name}`, samples);
  }
}
const timings = (prefix: string): Record<string, Timing> =>
  Object.fromEntries(
    [...times]
      .filter(([key]) => key.startsWith(prefix))
      .map(([key, samples]) => [key.slice(prefix.length), summarise(samples)]),
  );
const tables = Object.fromEntries(
  Object.keys(parts).map((part) => [
    part,
    { ours: timings(`${part} ours `), theirs: timings(`${part} theirs `), versions: python?.versions ?? {} },
  ]),
) as Tables;
console.log(JSON.stringify(tables));
