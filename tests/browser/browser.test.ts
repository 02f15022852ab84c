/** The pure core in a real browser: the unit tests that do not need Node, and features that only a browser has. */

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { equal, ok } from '../assert.js';
import { test, testWith } from '../harness.js';
import { checkReport, runPages, tools } from './run.js';
import { importMap, type Report, root } from './server.js';

/** The subpaths that a page can import. The others begin with native code. */
const subpaths = [
  '.',
  './abi',
  './adapters',
  './conformance',
  './debug',
  './files',
  './matchers',
  './mdspan',
  './wasm',
  './webgpu',
];

/** Unit tests that need Node: child processes, a compiler, native memory. */
const needNode = [
  'unit/compare.test.js',
  'unit/mdspan/from-dlpack.test.js',
  'unit/mdspan/produce.test.js',
  'unit/mdspan/span.test.js',
  'unit/mdspan/to-dlpack.test.js',
  'unit/programs.test.js',
  'unit/protocol/realms.test.js',
  'unit/tvm-ffi-compile.test.js',
  'unit/values/async.test.js',
  'unit/values/print.test.js',
];

const built = join(root, 'build/tests');
const filesIn = (folder: string, ending: string): string[] =>
  readdirSync(join(built, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith(ending))
    .map((file) => posix.join(folder, ...file.split(/[\\/]/)))
    .sort();

const imports = importMap(subpaths);

/** Whether a compiled file, with everything it imports of the tests and of src, runs in a page. */
function runsInPage(file: string, seen = new Set<string>()): boolean {
  if (seen.has(file)) return true;
  if (file.endsWith('/native/load/node-modules.js')) return false; // loads modules of Node at first use
  seen.add(file);
  const text = readFileSync(join(built, file), 'utf8');
  return [...text.matchAll(/^import (?:[^'"]*from )?['"]([^'"]+)['"]/gm)].every(([, specifier = '']) => {
    if (!specifier.startsWith('.')) return specifier in imports;
    return runsInPage(posix.join(dirname(file), specifier), seen);
  });
}

test('every unit test runs in a page, except the tests that need Node', () => {
  const left = filesIn('unit', '.test.js').filter((file) => !runsInPage(file));
  equal(left, needNode, 'tests that need Node:');
});

const path = tools.findBrowser();
const missing = path === null ? tools.browserMissing : false;
let reports: Report[] = [];
let requested = new Set<string>();
const files = [
  ...filesIn('unit', '.test.js').filter((file) => !needNode.includes(file)),
  ...filesIn('browser/page', '.page.js'),
];
const run = files.filter(
  (file) => path === null || tools.canCollect(path) || !readFileSync(join(built, file), 'utf8').includes('collect'),
);

for (const file of files) if (!run.includes(file)) console.log(`skip in a browser: ${file}: this one has no gc()`);

testWith(missing, 'a browser runs all pages and leaves no process behind', async () => {
  ({ reports, requested } = await runPages(path as string, run, imports));
  equal(
    reports.map(({ file }) => file),
    run,
  );
});

for (const file of run) {
  testWith(missing, `in a browser: ${file.replace(/\.(test|page)\.js$/, '')}`, () => checkReport(reports, file));
}

testWith(missing, 'a page loads no native code', () => {
  const modules = [...requested].filter((name) => name.endsWith('.js'));
  ok(modules.includes('/dist/index.js') && modules.includes('/dist/abi/index.js'));
  equal(
    modules.filter((name) =>
      /\.node\.js$|\/chunks\/node-|\/(dist|src)\/(native|python|tvm-ffi|cli|files\/node)\//.test(name),
    ),
    [],
  );
});
