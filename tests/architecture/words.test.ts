/** The words that every part of the source uses have one meaning each: one declaration, or several of the same thing. */

import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { equal } from '../assert.js';
import { test } from '../harness.js';

const source = fileURLToPath(new URL('../../../src/', import.meta.url));

/** A word, and the only files that declare it as a function, a method or a type. */
const words: Readonly<Record<string, readonly string[]>> = {
  Descriptor: ['storage/descriptor.ts'],
  Held: ['python/calls/held.ts', 'tvm-ffi/calls/held.ts'], // what a call keeps until it ends
  Layout: ['storage/layouts.ts'],
  borrow: ['adapters/borrow.ts'],
  bytesOf: ['storage/arrays.ts'],
  handleOf: ['native/convert.ts'],
  hold: ['tvm-ffi/calls/held.ts'],
  live: ['tvm-ffi/calls/functions.ts', 'tvm-ffi/objects/object-classes.ts'], // views of fields and containers
  liveHandle: ['cuda/streams/stream-handle.ts', 'python/objects/reference.ts'], // throws for what was disposed
  placeOf: ['native/exchange/export.ts'],
  pointerTo: ['mdspan/pointer.ts'],
  releaseHandle: ['native/memory/storage.ts'],
  request: ['native/wire/wire.ts'],
  takeOutcome: ['python/calls/operations.ts'],
  takeResult: ['native/exchange/import.ts'],
  takeTensor: ['native/wire/tensor.ts'],
  writeTensor: ['native/wire/tensor.ts'],
};

const declaration =
  /^(?:export )?(?:abstract )?(?:async )?(?:function\*?|class|interface|type|const|let) (\w+)|^ {2}(?:(?:private|protected|override|static|async) )*(\w+)(?:<.*>)?\(.*\{$/gm;

test('a word that all parts use has one meaning', () => {
  const found = new Map<string, Set<string>>();
  for (const entry of readdirSync(source, { recursive: true })) {
    const file = String(entry).replaceAll('\\', '/');
    if (!file.endsWith('.ts')) continue;
    for (const [, named, method = ''] of readFileSync(source + file, 'utf8').matchAll(declaration)) {
      const word = named ?? method;
      found.set(word, (found.get(word) ?? new Set()).add(file));
    }
  }
  for (const [word, files] of Object.entries(words)) equal([...(found.get(word) ?? [])].sort(), files, word);
});
