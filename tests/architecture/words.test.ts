/** The words that every part of the source uses have one meaning each: one declaration, or several of the same thing. */

import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { equal } from '../assert.js';
import { test } from '../harness.js';

const folder = (name: string) => fileURLToPath(new URL(`../../../${name}/`, import.meta.url));

/** A word, and the only files that declare it as a function, a method or a type. */
const words: Readonly<Record<string, readonly string[]>> = {
  Descriptor: ['storage/descriptor.ts'],
  ForeignRequest: ['storage/foreign.ts'], // what a consumer asks of a foreign object
  Held: ['python/calls/held.ts', 'tvm-ffi/calls/held.ts'], // what a call keeps until it ends
  ImportRequest: ['native/wire/wire-layout.ts'],
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

/** The same in C++, for functions outside of classes, and structs. */
const nativeWords: Readonly<Record<string, readonly string[]>> = {
  CopyPlan: ['cuda/copies/copy_plan.h'], // what a kernel takes
  CopyRequest: ['wire/wire_layout.h'],
  Descriptor: ['exchange/descriptor.h'],
  DeviceCopy: ['cuda/copies/copy.h'],
  GiveTensor: ['wire/wire.h'],
  ImportRequest: ['wire/wire_layout.h'],
  Layout: ['exchange/descriptor.h'],
  ReadLayout: ['wire/wire.h'],
  ReadTensor: ['wire/wire.h'],
  Storage: ['memory/storage.h'],
  WriteLayout: ['wire/wire.h'],
};

const declaration =
  /^(?:export )?(?:abstract )?(?:async )?(?:function\*?|class|interface|type|const|let) (\w+)|^ {2}(?:(?:private|protected|override|static|async) )*(\w+)(?:<.*>)?\(.*\{$/gm;
/** A struct, or the body of a function. */
const nativeDeclaration =
  /^(?:struct|class|enum|enum class) (?:alignas\(\d+\) )?(\w+)[^;]*\{$|^[a-z][\w:<>*& ]*[ *&](\w+)\([^;]*?\) \{/gm;

/** The files that declare each word. */
function declaredIn(root: string, ending: RegExp, pattern: RegExp): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const entry of readdirSync(root, { recursive: true })) {
    const file = String(entry).replaceAll('\\', '/');
    if (!ending.test(file)) continue;
    for (const [, named, other = ''] of readFileSync(root + file, 'utf8').matchAll(pattern)) {
      const word = named ?? other;
      found.set(word, (found.get(word) ?? new Set()).add(file));
    }
  }
  return found;
}

for (const [root, ending, pattern, table] of [
  ['src', /\.ts$/, declaration, words],
  ['native', /\.(cc|h)$/, nativeDeclaration, nativeWords],
] as const) {
  test(`a word that all parts of ${root} use has one meaning`, () => {
    const found = declaredIn(folder(root), ending, pattern);
    for (const [word, files] of Object.entries(table)) equal([...(found.get(word) ?? [])].sort(), files, word);
  });
}
