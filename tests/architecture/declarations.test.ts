/** The declarations that users see: one meaning for each name, and a name for each type. */

import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { equal, ok } from '../assert.js';
import { test } from '../harness.js';
import { classesWithoutConstructor, describe, entries, type Origin, unexportedTypes } from './declarations.js';

const subpaths = entries();
const root = fileURLToPath(new URL('../../../', import.meta.url));

/** The texts of the files below a folder whose path ends so. */
function textsOf(folder: string, end: string): string[] {
  const files = readdirSync(`${root}${folder}`, { recursive: true, encoding: 'utf8' });
  return files.filter((file) => file.endsWith(end)).map((file) => readFileSync(`${root}${folder}/${file}`, 'utf8'));
}

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
  const declared = textsOf('node_modules/@typescript', 'lib.dom.d.ts').join('\n'); // the compiler's own
  const names = [...declared.matchAll(/^declare (?:var|function|const) (\w+)/gm)].map(([, name = '']) => name);
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

test('every class of errors is exported, so that programs can name it', () => {
  const source = textsOf('src', '.ts').join('\n');
  const classes = [...source.matchAll(/^(?:export )?(?:abstract )?class (\w+)(?:<.*>)? extends (\w+)/gm)];
  const errors = new Set(['DLPackError']);
  for (const parent of errors) for (const [, name = '', of] of classes) if (of === parent) errors.add(name);
  ok(errors.size > 25, `finds ${errors.size} classes`);
  const exported = new Set([...subpaths.values()].flatMap((names) => [...names.keys()]));
  const missing = [...errors].filter((name) => !exported.has(name));
  equal(missing, []);
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
