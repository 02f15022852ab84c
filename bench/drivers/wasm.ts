/** wasm.js <bundle of a tree> <module>: the operations of a WasmHeap, in nanoseconds, as JSON. */

import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import type { Exports } from '../../tests/wasm/heap.js';
import { sample, summarise, type Timing } from '../measure.js';

const [bundle, file] = process.argv.slice(2) as [string, string];
const { WasmHeap } = (await import(pathToFileURL(bundle).href)) as typeof import('dlpack/wasm');
const instance = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(file)));
const exports = instance.exports as never as Exports;
const heap = new WasmHeap(exports as never);

const SAMPLES = 15;
const COUNT = 20_000;
const IMPORTS = 100;

const address = exports.tensor_new(2, 3);
const release = () => {};
const inside = heap.empty([2, 3], 'float32');
const operations: Record<string, (n: number) => void> = {
  viewTensor: (n) => {
    for (let i = 0; i < n; i++) heap.viewTensor(address);
  },
  'importTensor, dispose': (n) => {
    for (let i = 0; i < n; i++) heap.importTensor(address, { release }).dispose();
  },
  'exportManaged, deleter called by the module': (n) => {
    for (let i = 0; i < n; i++) {
      exports.keep(heap.exportManaged(inside));
      exports.drop_kept();
    }
  },
};

/** The module makes the tensors while the clock stands. */
function sampleImports(samples: number): number[] {
  const addresses = new Array<number | bigint>(IMPORTS).fill(0);
  return Array.from({ length: samples }, () => {
    let total = 0n;
    for (let turn = 0; turn < 50; turn++) {
      for (let i = 0; i < IMPORTS; i++) addresses[i] = exports.managed_new(2, 3, 1, 0);
      const start = process.hrtime.bigint();
      for (let i = 0; i < IMPORTS; i++) heap.importManaged(addresses[i] as number).dispose();
      total += process.hrtime.bigint() - start;
    }
    return Number(total) / IMPORTS / 50;
  });
}

for (const batch of Object.values(operations)) sample(batch, COUNT, 5);
sampleImports(10);
const times: Record<string, Timing> = { 'importManaged, dispose': summarise(sampleImports(SAMPLES)) };
for (const [name, batch] of Object.entries(operations)) times[name] = summarise(sample(batch, COUNT, SAMPLES));
console.log(JSON.stringify(times));
