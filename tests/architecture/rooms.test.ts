/** A concern has one file name in TypeScript and C++, in the same sub-folder, and folders are small enough to look around. */

import { readdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { equal, ok } from '../assert.js';
import { test } from '../harness.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));

const filesOf = (folder: string) =>
  readdirSync(`${root}${folder}`, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.parentPath}/${entry.name}`.replaceAll('\\', '/').slice(root.length));

interface Room {
  /** The folder of src with the same concerns. */
  readonly source: string;
  /** What C++ has alone: why, and the files. */
  readonly alone?: Readonly<Record<string, readonly string[]>>;
}

const rooms: Readonly<Record<string, Room>> = {
  'native/cuda': {
    source: 'src/cuda',
    alone: {
      'the state of an instance': ['context'],
      'what kernels take': ['copies/cast-block', 'copies/cast-plan', 'copies/copy-plan'],
      'below the requests': ['copies/pinned-blocks', 'memory/block-cache', 'streams/watcher'],
      'the requests of several files': ['memory/requests'],
      'orders work, on any thread': ['streams/imports', 'streams/uses'],
    },
  },
  'native/exchange': {
    source: 'src/native/exchange',
    alone: { 'the structs and tables of DLPack': ['descriptor', 'exchange-api', 'managed-tensor'] },
  },
  'native/files': { source: 'src/files/node' },
  'native/memory': {
    source: 'src/native/memory',
    alone: {
      'references of native code': ['buffer-reference', 'collection', 'handle-table', 'tickets'],
      'the requests of several files': ['memory'],
      'of a thread': ['release-queue', 'thread-cache'],
    },
  },
  'native/onnxruntime': {
    source: 'src/onnxruntime',
    alone: {
      "the library's C interface": ['abi', 'allocator'],
      'the state of an instance': ['context'],
      'helpers in C++': ['failure', 'list', 'text'],
      'runs on other threads': ['memory-in-use', 'pool', 'run'],
    },
  },
  'native/python': {
    source: 'src/python',
    alone: {
      "Python's C interface": ['calls/operation-scope', 'interpreter/api', 'objects/calls', 'values/text'],
      'the process': ['interpreter/blas', 'interpreter/prelude', 'interpreter/torch-threads', 'objects/object-bytes'],
      'our tensor in Python': ['tensors/array-views', 'tensors/tensor-type'],
      'tensors of libraries': ['tensors/converters', 'tensors/device-exchange', 'tensors/dtypes', 'tensors/type-entry'],
      'arrays of one library': ['tensors/numpy-array', 'tensors/torch-tensor'],
      'other threads': ['threads/channel', 'threads/pool', 'threads/staged'],
    },
  },
  'native/tvm_ffi': {
    source: 'src/tvm-ffi',
    alone: {
      'the state of an instance': ['context'],
      'helpers in C++': ['codec/big-integers', 'objects/flat-release', 'text'],
      'the native object of a tensor': ['codec/tensor-object'],
    },
  },
  'native/wire': { source: 'src/native/wire' },
};

/** Files without an ending, in the spelling of TypeScript. */
const concernsOf = (folder: string, ending: RegExp) =>
  new Set(
    filesOf(folder)
      .filter((file) => ending.test(file))
      .map((file) =>
        file
          .slice(folder.length + 1)
          .replace(ending, '')
          .replaceAll('_', '-'),
      ),
  );

for (const [folder, { source, alone: reasons = {} }] of Object.entries(rooms)) {
  test(`${folder} and ${source} call a concern by the same name`, () => {
    const native = concernsOf(folder, /(?<!_py|_ptx)\.(cc|h)$/);
    const typescript = concernsOf(source, /\.ts$/);
    const alone = new Set(Object.values(reasons).flat());
    for (const name of alone) ok(native.has(name) && !typescript.has(name), `the table has ${folder}/${name}`);
    const names = new Map([...typescript].map((name) => [name.split('/').at(-1), name]));
    for (const name of native) {
      if (alone.has(name)) continue;
      const there = names.get(name.split('/').at(-1));
      equal(there, name, `${folder}/${name}: expected a file of this name in ${source}, or a row with the reason`);
    }
  });
}

/** Folders that may be large, and why. A source and its header are one file. */
const large: Record<string, string> = {
  'src/adapters': 'one file for each library',
};

test('no folder has more than 24 files', () => {
  const counts = new Map<string, Set<string>>();
  for (const file of [...filesOf('src'), ...filesOf('native')]) {
    const folder = dirname(file);
    counts.set(folder, (counts.get(folder) ?? new Set()).add(file.replace(/\.(cc|h)$/, '')));
  }
  for (const [folder, files] of counts) {
    equal(files.size > 24, folder in large, `${folder} has ${files.size} files: make sub-folders, or add a reason`);
  }
});
