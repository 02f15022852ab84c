/**
 * Values that are nested deep or contain themselves, on the main thread and on a worker, whose stack is shorter. Prints
 * what each function did with each value.
 */

import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { isDLPackError } from 'dlpack';
import * as ffi from 'dlpack/tvm-ffi';
import { libraries } from '../peer.js';

const { deepCopy, Dict, fromJSONGraph, List, structuralEqual, structuralHash, toJSONGraph } = ffi;

function nest<T>(levels: number, innermost: T, wrap: (inner: T) => T): T {
  let value = innermost;
  for (let i = 0; i < levels; i++) value = wrap(value);
  return value;
}

const graph = (nodes: unknown[]) => JSON.stringify({ root_index: 0, nodes });

/** A graph in which each node refers to the next one. */
function chain(levels: number, type: string, dataOf: (next: number) => unknown): string {
  const nodes: unknown[] = Array.from({ length: levels }, (_, i) => ({ type, data: dataOf(i + 1) }));
  return graph([...nodes, { type: 'int', data: 1 }]);
}

function values(): Record<string, unknown> {
  const list = new List<unknown>([1]);
  list.push(list);
  const dict = new Dict<unknown, unknown>([]);
  dict.set('self', dict);
  const ring = new List<unknown>([]);
  ring.push({ inner: [new Dict([['ring', ring]])] });
  const shared = nest<unknown>(150, 1, (inner) => new List([inner]));
  const deeper = nest<unknown>(60, shared, (inner) => new List([inner]));
  const path = nest(30_000, new List<unknown>([1]), (inner) => new List<unknown>([inner]));
  return {
    'arrays, 200 deep': nest<unknown>(200, 1, (inner) => [inner]),
    'lists, 200 deep': nest<unknown>(200, 1, (inner) => new List([inner])),
    'shared lists, 12 deep': nest<unknown>(12, 1, (inner) => new List([inner, inner])),
    'a shared list, once too deep': new List<unknown>([deeper, shared]),
    'a shared list, later too deep': new List<unknown>([shared, deeper]),
    'arrays, 9,999 deep': nest<unknown>(9999, 1, (inner) => [inner]),
    'lists, 30,000 deep': path,
    'dicts, 30,000 deep': nest<unknown>(30_000, 1, (inner) => new Dict([['next', inner]])),
    'keys, 30,000 deep': nest<unknown>(30_000, 1, (inner) => new Dict([[inner, 'key']])),
    'views, 300 deep': nest<unknown>(300, 1, (inner) => new ffi.ArrayView([inner])),
    'an array around deep lists': [{ a: path }],
    'a list that contains itself': list,
    'a dict that contains itself': dict,
    'a ring of a list, a map, an array and a dict': ring,
    'a taken-over list': new ffi.RValue(path),
    'an object that stands for a deep list': { [ffi.TVM_FFI_VALUE]: () => path },
  };
}

const functions: Record<string, (value: unknown) => unknown> = {
  structuralEqual: (value) => structuralEqual(value, value),
  structuralHash: (value) => typeof structuralHash(value),
  toJSONGraph: (value) => typeof toJSONGraph(value),
  metadata: (value) => typeof toJSONGraph(1, { value }),
  deepCopy: (value) => typeof deepCopy(value),
};

const step = 'ffi.reflection.AccessStep';
const texts: Record<string, string> = {
  'an array in itself': graph([{ type: 'ffi.Array', data: [0] }]),
  'a list in itself': graph([{ type: 'ffi.List', data: [0] }]),
  'a map in itself': graph([{ type: 'ffi.Map', data: [0, 0] }]),
  'a dict in itself': graph([{ type: 'ffi.Dict', data: [0, 0] }]),
  'an object in itself': graph([{ type: step, data: { kind: 0, key: 0 } }]),
  'false as the index 0': graph([{ type: 'ffi.Array', data: [false] }]),
  'a ring': graph([
    { type: 'ffi.Array', data: [1] },
    { type: step, data: { kind: 0, key: 2 } },
    { type: 'ffi.Dict', data: [3, 0] },
    { type: 'int', data: 0 },
  ]),
  'true as the root': JSON.stringify({
    root_index: true,
    nodes: [
      { type: 'int', data: 0 },
      { type: 'ffi.Array', data: [1] },
    ],
  }),
  'arrays, 200 deep': chain(200, 'ffi.Array', (next) => [next]),
  'objects, 200 deep': chain(200, step, (next) => ({ kind: 0, key: next })),
  'arrays, 5,000 deep': chain(5000, 'ffi.Array', (next) => [next]),
  'objects, 5,000 deep': chain(5000, step, (next) => ({ kind: 0, key: next })),
  'brackets, 100,000 deep': '['.repeat(100_000),
  'objects of JSON, 100,000 deep': '{"a":'.repeat(100_000),
  'brackets in a string': graph([{ type: 'ffi.String', data: `\\"${'['.repeat(1000)}` }]),
  'not a number': '{"root_index":0,"nodes":[{"type":"float","data":NaN}]}',
};

function outcome(action: () => unknown): string {
  try {
    return String(action());
  } catch (error) {
    return isDLPackError(error) ? error.tag : `untyped: ${String(error)}`;
  }
}

function run(): Record<string, Record<string, string>> {
  ffi.loadLibrary({ path: `${libraries}/libtvm_ffi.so` });
  const given = Object.entries(values());
  const results: Record<string, Record<string, string>> = {};
  for (const [name, call] of Object.entries(functions)) {
    results[name] = {};
    for (const [what, value] of given) results[name][what] = outcome(() => call(value));
  }
  results.fromJSONGraph = {};
  for (const [what, text] of Object.entries(texts)) {
    results.fromJSONGraph[what] = outcome(() => typeof fromJSONGraph(text));
  }
  return results;
}

if (!isMainThread) parentPort?.postMessage(run());
else if (process.argv[2] === 'main') console.log(`RESULT ${JSON.stringify(run())}`);
else {
  const worker = new Worker(new URL(import.meta.url));
  worker.on('message', (results) => console.log(`RESULT ${JSON.stringify(results)}`));
}
