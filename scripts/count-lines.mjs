// node scripts/count-lines.mjs OLD NEW: lines and files of two trees of this package by folder and by feature, and their
// module-level variables. Writes bench/results/lines.md. Counts hand-written code: generated layouts and PTX are left out.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { at } from './lib/steps.mjs';

const isCode = (path) => /\.(ts|cts|cc|h|cu)$/.test(path) && !/wire[-_]layout\.|_ptx\.h$/.test(path);

const isCodeLine = (line) => !/^\s*($|\/\/|\/?\*)/.test(line);

/** Every file of a folder with its number of lines. */
function filesIn(tree, folder) {
  if (!existsSync(join(tree, folder))) return [];
  return readdirSync(join(tree, folder), { recursive: true })
    .map((name) => join(folder, String(name)))
    .filter(isCode)
    .map((path) => {
      const lines = readFileSync(join(tree, path), 'utf8').trimEnd().split('\n');
      return { path, lines: lines.length, code: lines.filter(isCodeLine).length };
    });
}

/** Features that the old tree did not have, by their files. Everything else existed before. */
const features = {
  'safetensors, npy, npz and GGUF files': /^(src|native)\/files\/(?!shared_memory)/,
  'adapters for JavaScript libraries': /^src\/(adapters\/|protocol\/adapters|browser)/,
  'WebGPU tensors': /^src\/webgpu\//,
  'tensors of WebAssembly modules': /^src\/wasm\//,
  'host memory for other processes':
    /^(src\/native\/(shared-memory|host-sharing)|native\/files\/shared_memory|native\/platform\/posix_shared|src\/shared\/foreign)/,
  'Windows, macOS and musl, and the addon of each platform':
    /^(native\/platform\/(?!posix_shared)|src\/(native\/(addon|target)|native-status))/,
  'Ray clusters': /^src\/(ray\/|cli\/ray-worker)/,
  'npx dlpack: doctor and build': /^src\/cli\/(?!types|ray-worker)/,
  'TVM-FFI: compile': /^src\/tvm-ffi\/compile/,
  'TVM-FFI: live containers, registered classes, structure, backtraces':
    /^(src\/tvm-ffi\/(live-containers|containers|batches|host-|object-classes|structural|backtrace)|native\/tvm_ffi\/(builtins|host_object|reflection|containers|batch))/,
  'Python: futures, context variables, exit, signals, pickling':
    /^(src\/python\/(futures|signals)|native\/python\/staged|native\/signals)/,
  'Python: from_dlpack by identity, long strings': /^native\/python\/(converters|text)\./,
  'TVM-FFI: tensors described on the wire, Python objects as arguments':
    /^src\/(tvm-ffi\/described-tensors|python\/tvm-ffi-value)/,
  'uploads of files to CUDA devices': /^(src\/cuda\/upload|native\/cuda\/(upload|pinned_blocks))/,
  'casts on CUDA devices': /^(src\/cuda\/cast|native\/cuda\/cast)/,
  'kept blocks, new tensors in one call, fast nested arrays':
    /^(native\/kept_blocks|src\/native\/(kept-blocks|wire-bytes)|src\/values\/iterate|src\/view-layout)/,
  'scopes, unknown options, integers beyond 2^53 in mdspan': /^src\/(scope|base\/options|mdspan\/integers)/,
};

/** Features that also grew inside files that existed before, by the commits that added them there. */
const grown = {
  'Python: capsules and buffers, exact integers and strings, exit, signals, futures, Maps and Sets':
    '0133938 fcfe5eb 5993ffa 82c710d 5bdfbfc',
  'Python: from_dlpack and CuPy arrays without Python code': 'ae8b582 6565ec6',
  'TVM-FFI: objects, live containers, registered classes, errors as themselves, modules, declarations':
    '42ceea5 25812e3 b17be5f f3c41e6 42a6cd5 bfb2539 fba474c fbd9405',
  'TVM-FFI: tensors described on the wire, wrapped memory in the first call': '2fd295a eab1b2e 7e6c79e 0b817df',
  'CUDA: uploads of files, casts, the whole array interface': 'f786ce0 4452f7e bd3b1a1 2f4cb5a',
  'mdspan: owners and constant elements as in C++, integers beyond 2^53': 'be91611 aeaf4d9',
  'exchange: misaligned memory, patched built-ins, out of memory, what the collector is told':
    '1346a21 f3df3d4 59cdf96 c752ab2 1649dc9',
  'everyday: views, kept blocks, copies in one call, nested arrays, zeroed pages':
    '422923b c1eabd5 eb9808f 81f52bd 26f9a43 7ba3efe 63a766a',
  'WebGPU, WebAssembly, adapters and shared host memory in the core':
    'fcca372 5d71719 b80abce 8d63803 e02c900 7e2e97a b24e06a a2d0005',
  'bundlers and npx dlpack: finding the addon': '2140a8d 4d95893 308f812',
  "speed: checked layouts, layouts of producers, PyTorch's C interface, plain calls of Python functions":
    'eabe547 c8ec7de 5990572 60ac36d 4f19b5f 0271ade e960485 68b5ff2',
};

/** Lines that commits added to files of `src` and `native` that belong to no new feature, less those they removed. */
function netLines(tree, commits) {
  const args = ['-C', tree, 'show', '-M', '-U0', '--format=', ...commits.split(' '), '--', 'src', 'native'];
  const patch = execFileSync('git', args, { encoding: 'utf8', maxBuffer: 2 ** 28 }).split('\n');
  const total = { lines: 0, code: 0 };
  let counts = false;
  for (const line of patch) {
    const [, path] = line.match(/^(?:---|\+\+\+) [ab]\/(.*)/) ?? [];
    if (path !== undefined) counts = isCode(path) && !isNew(path);
    else if (counts && /^[+-](?!\+\+ |-- )/.test(line)) {
      const change = line[0] === '+' ? 1 : -1;
      total.lines += change;
      if (isCodeLine(line.slice(1))) total.code += change;
    }
  }
  return total;
}

const sum = (files, key) => files.reduce((total, file) => total + file[key], 0);
const cells = (files) => `${files.length} | ${sum(files, 'lines')} | ${sum(files, 'code')}`;
const folderOf = (path) =>
  dirname(path).split('/').length > 2 ? dirname(path).split('/').slice(0, 2).join('/') : dirname(path);

/** The names that a pattern finds in the TypeScript files of a tree, with their files. */
function find(tree, files, pattern) {
  return files.flatMap(({ path }) =>
    path.startsWith('src/')
      ? [...readFileSync(join(tree, path), 'utf8').matchAll(pattern)].map(([, name]) => ({ path, name }))
      : [],
  );
}

function describe(tree) {
  const files = ['src', 'native'].flatMap((folder) => filesIn(tree, folder));
  return {
    files,
    variables: find(tree, files, /^(?:export )?let (\w+)/gm),
    // Functions through which one module of the package gives another a function or an object.
    hooks: find(tree, files, /^export function (set[A-Z]\w*)/gm).filter(
      ({ name }) => !isPublic(tree, name) && !setters.has(name),
    ),
  };
}

/** Functions that set an item, a current stream and the type of a class, which are not hooks. */
const setters = new Set(['setItem', 'setCurrentHandle']);

/** Functions that users call are not hooks. */
function isPublic(tree, name) {
  const entries = ['src/index.ts', ...readdirSync(join(tree, 'src')).map((folder) => `src/${folder}/index.ts`)];
  return entries.some(
    (entry) =>
      existsSync(join(tree, entry)) && new RegExp(`\\b${name}\\b`).test(readFileSync(join(tree, entry), 'utf8')),
  );
}

const commitOf = (tree) =>
  execFileSync('git', ['-C', tree, 'rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();

const [before, after] = process.argv.slice(2, 4).map((path) => resolve(path));
const old = describe(before);
const now = describe(after);
const row = (name, a, b) => `| ${name} | ${cells(a)} | ${cells(b)} |`;
const head = (what) =>
  `| ${what} | files before | lines | code | files after | lines | code |\n|---|---|---|---|---|---|---|`;
const folders = [...new Set([...old.files, ...now.files].map(({ path }) => folderOf(path)))].sort();
const inFolder = (tree, folder) => tree.files.filter(({ path }) => folderOf(path) === folder);
const isNew = (path) => Object.values(features).some((pattern) => pattern.test(path));
const ofFeature = (pattern) => now.files.filter(({ path }) => pattern.test(path));
const existing = (entries) => entries.filter(({ path }) => !isNew(path));
const kept = existing(now.files);
const growth = Object.entries(grown).map(([name, commits]) => ({ name, commits, ...netLines(after, commits) }));
const names = (entries) => entries.map(({ name }) => `\`${name}\``).join(', ');

writeFileSync(
  at('bench/results/lines.md'),
  `# Lines of code

Date ${new Date().toISOString().slice(0, 10)}; \`node scripts/count-lines.mjs OLD NEW\`; before: ${commitOf(before)}, after: ${commitOf(after)}. Hand-written lines of
\`src\` and \`native\`: all lines, and lines of code without comments and blank lines. Generated layouts and PTX are left out.

## By feature

What existed before, and the features that came since, by the files that only they use. Features that grew inside existing files count
as existing code here; the next table has them.

${head('part')}
${row('what existed before', old.files, kept)}
${Object.entries(features)
  .map(([name, pattern]) => row(name, [], ofFeature(pattern)))
  .join('\n')}
${row('together', old.files, now.files)}

Features inside files that existed before, by their commits: lines added there, less lines removed. Later work has made these
features shorter, too, so the difference in the last rows is an estimate.

| feature | lines | code | commits |
|---|---|---|---|
${growth.map(({ name, lines, code, commits }) => `| ${name} | ${lines} | ${code} | ${commits} |`).join('\n')}
| together | ${sum(growth, 'lines')} | ${sum(growth, 'code')} | |
| what existed before, without them | ${sum(kept, 'lines') - sum(growth, 'lines')} | ${sum(kept, 'code') - sum(growth, 'code')} | |
| the same in the tree before | ${sum(old.files, 'lines')} | ${sum(old.files, 'code')} | |

## By folder

${head('folder')}
${folders.map((folder) => row(`\`${folder}\``, inFolder(old, folder), inFolder(now, folder))).join('\n')}

## State of modules

| | before | after | after, in what existed before |
|---|---|---|---|
| module-level \`let\` | ${old.variables.length} | ${now.variables.length} | ${existing(now.variables).length} |
| \`setX\` hooks between modules | ${old.hooks.length} | ${now.hooks.length} | ${existing(now.hooks).length} |

Hooks before: ${names(old.hooks)}.
Hooks after: ${names(now.hooks)}.
[State of modules](../../docs/decisions/module-state.md) has the reason for each variable and hook that stays.
`,
);
