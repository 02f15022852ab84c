// node scripts/count-lines.mjs OLD NEW: lines and files of two trees of this package by folder and by feature, and their
// module-level variables. Writes bench/results/lines.md. Counts hand-written code: generated layouts and PTX are left out.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { at } from './lib/steps.mjs';

const isCode = (path) => /\.(ts|cts|cc|h|cu)$/.test(path) && !/wire[-_]layout\.|_ptx\.h$/.test(path);

/** Every file of a folder with its number of lines. */
function filesIn(tree, folder) {
  if (!existsSync(join(tree, folder))) return [];
  return readdirSync(join(tree, folder), { recursive: true })
    .map((name) => join(folder, String(name)))
    .filter(isCode)
    .map((path) => {
      const lines = readFileSync(join(tree, path), 'utf8').trimEnd().split('\n');
      return { path, lines: lines.length, code: lines.filter((line) => !/^\s*($|\/\/|\/?\*)/.test(line)).length };
    });
}

/** Features that the old tree did not have, by their files. Everything else existed before. */
const features = {
  'safetensors, npy, npz and GGUF files': /^(src|native)\/files\/(?!shared_memory)/,
  'adapters for JavaScript libraries': /^src\/(adapters\/|protocol\/adapters|gpu-buffers)/,
  'WebGPU tensors': /^src\/webgpu\//,
  'tensors of WebAssembly modules': /^src\/wasm\//,
  'host memory for other processes':
    /^(src\/native\/(shared-memory|host-sharing)|native\/files\/shared_memory|native\/platform\/posix_shared|src\/shared\/foreign)/,
  'Windows, macOS and musl': /^native\/platform\/(?!posix_shared)/,
  'Ray clusters': /^src\/(ray\/|cli\/ray-worker)/,
  'npx dlpack: doctor and build': /^src\/cli\/(?!types|ray-worker)/,
  'TVM-FFI: compile': /^src\/tvm-ffi\/compile/,
  'TVM-FFI: live containers, registered classes, structure, backtraces':
    /^(src\/tvm-ffi\/(live-containers|container-copies|containers|host-|object-classes|structural|backtrace)|native\/tvm_ffi\/(builtins|host_object|reflection|containers|batch))/,
  'Python: futures, context variables, exit, signals, pickling':
    /^(src\/python\/(futures|signals)|native\/python\/(settler|snapshot|staged|prelude)|native\/signals)/,
  'Python: from_dlpack by identity, long strings': /^native\/python\/(converters|text)\./,
  'casts on CUDA devices': /^(src\/cuda\/cast|native\/cuda\/cast)/,
  'kept blocks, new tensors in one call, fast nested arrays':
    /^(native\/kept_blocks|src\/native\/(kept-blocks|trim|stage|wire-bytes)|src\/values\/(write-nested|iterate)|src\/view-layout)/,
  'scopes, unknown options, integers beyond 2^53 in mdspan': /^src\/(scope|options|mdspan\/integers)/,
};

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
const setters = new Set(['setItem', 'setCurrentHandle', 'setHostType']);

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
const names = (entries) => entries.map(({ name }) => `\`${name}\``).join(', ');

writeFileSync(
  at('bench/results/lines.md'),
  `# Lines of code

Date ${new Date().toISOString().slice(0, 10)}; \`node scripts/count-lines.mjs OLD NEW\`; before: ${commitOf(before)}, after: ${commitOf(after)}. Hand-written lines of
\`src\` and \`native\`: all lines, and lines of code without comments and blank lines. Generated layouts and PTX are left out.

## By feature

What existed before, and the features that came since, by the files that only they use. Features that grew inside existing files count
as existing code.

${head('part')}
${row('what existed before', old.files, kept)}
${Object.entries(features)
  .map(([name, pattern]) => row(name, [], ofFeature(pattern)))
  .join('\n')}
${row('together', old.files, now.files)}

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
