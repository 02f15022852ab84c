/** The declarations that users see: one meaning for each name, and a name for each type. */

import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { equal, ok } from '../assert.js';
import { test } from '../harness.js';
import { classesWithoutConstructor, describe, entries, type Origin, unexportedTypes } from './declarations.js';

const subpaths = entries();
/** The compiler's packages, of which one has its declarations. */
const compilers = fileURLToPath(new URL('../../../node_modules/@typescript/', import.meta.url));

test('a name on two subpaths is the same thing', () => {
  const places = new Map<string, Map<Origin, string>>();
  for (const [subpath, names] of subpaths) {
    for (const [name, origin] of names) {
      const found = places.get(name) ?? new Map<Origin, string>();
      found.set(origin, subpath);
      places.set(name, found);
    }
  }
  const doubles = [...places]
    .filter(([, found]) => found.size > 1)
    .map(([name, found]) => `${name}: ${[...found.values()].join(', ')}`);
  equal(doubles.sort(), [
    // The type of the values, and the table of the C struct.
    'DLDataType: dlpack, dlpack/abi',
    'DLDevice: dlpack, dlpack/abi',
    // A call on another thread, of Python and of a kernel.
    'callAsync: dlpack/python, dlpack/tvm-ffi',
  ]);
});

/** The names of the values that are global in this runtime or in a page. */
function globals(): Set<string> {
  const declared = readdirSync(compilers, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('lib.dom.d.ts'))
    .map((file) => readFileSync(`${compilers}${file}`, 'utf8'));
  const names = [...declared.join('\n').matchAll(/^declare (?:var|function|const) (\w+)/gm)].map(
    ([, name = '']) => name,
  );
  return new Set([...names, ...Object.getOwnPropertyNames(globalThis)]);
}

test('no value that a subpath exports has the name of a global, which its import would hide', () => {
  const taken = globals();
  ok(taken.has('Event') && taken.has('GPUBuffer') && taken.has('process'), 'reads the globals of a page and of Node');
  const hiding = [...subpaths].flatMap(([subpath, names]) =>
    [...names]
      .filter(([name, origin]) => taken.has(name) && !['type', 'interface'].includes(describe(origin).kind))
      .map(([name]) => `${subpath}: ${name}`),
  );
  equal(hiding, []);
});

test('an acronym has one spelling in all names', () => {
  const wrong = /Gpu|Json|Dl(?=[A-Z])|Dlpack|Tvm(?!js)|Ffi|CUDA|ONNX|GGUF|NPZ|NPY|WASM|Dtype/;
  const names = [...subpaths.values()].flatMap((exported) => [...exported.keys()]);
  // Constants and the names of C are all capitals.
  equal(names.filter((name) => wrong.test(name) && !/^[A-Z_]+$/.test(name)).sort(), []);
});

test('every type that an export names can be imported', () => {
  const pairs = [...unexportedTypes()].map(([type, from]) => `${type}, in ${[...from].join(', ')}`);
  equal(pairs.sort(), []);
});

test('programs cannot call the constructors of classes that this package makes', () => {
  unexportedTypes(); // reads the declarations
  const hidden = classesWithoutConstructor();
  ok(['tensor.d.ts', 'view.d.ts', 'files/tensor-file.d.ts'].every((file) => hidden.has(file)));
  for (const [file, classes] of hidden) {
    for (const text of classes) {
      ok(text.startsWith('export declare abstract class '), file);
      ok(!text.includes('constructor('), file);
    }
  }
});
