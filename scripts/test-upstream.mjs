// npm run test:upstream: runs the tests in the wheels of NumPy and pyarrow inside our embedded Python and in Python
// itself. Tests that pass in Python must pass here. `-- numpy` runs the suites whose name contains that.
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { installUpstream } from './lib/environments.mjs';
import { buildNative } from './lib/native.mjs';
import { buildTypeScript, checkNode, installPackages } from './lib/setup.mjs';
import { at, main, run, step } from './lib/steps.mjs';

/** The suites: a package and its files. Files that compile extensions or need other programs are omitted. */
const suites = {
  'numpy exchange': [
    'numpy._core',
    ['test_dlpack', 'test_array_interface', 'test_protocols', 'test_api', 'test_mem_policy'],
  ],
  'numpy arrays': [
    'numpy._core',
    ['test_multiarray', 'test_dtype', 'test_indexing', 'test_numeric', 'test_shape_base', 'test_memmap'],
  ],
  'numpy values': [
    'numpy._core',
    ['test_half', 'test_scalarmath', 'test_arrayprint', 'test_print', 'test_errstate', 'test_multithreading'],
  ],
  pyarrow: [
    'pyarrow',
    ['test_dlpack', 'test_array', 'test_tensor', 'test_cffi', 'test_device', 'test_memory', 'test_io', 'test_types'],
  ],
};

const python = at('.venv-upstream', process.platform === 'win32' ? 'Scripts/python.exe' : 'bin/python');

/** No cache, no plug-ins of the machine, and no time limits in hypothesis. */
const argumentsFor = ([name, files], report) => [
  ...['-q', '-p', 'no:cacheprovider', '--no-header', '--tb=line', `--junitxml=${report}`],
  ...['--pyargs', ...files.map((file) => `${name}.tests.${file}`)],
];

/** The names of the tests in a report, by outcome. */
function readReport(path) {
  const ended = new Map();
  const text = readFileSync(path, 'utf8');
  for (const [, attributes, , body = ''] of text.matchAll(/<testcase ([^>]*?)(\/>|>([\s\S]*?)<\/testcase>)/g)) {
    const value = (key) => new RegExp(`\\b${key}="([^"]*)"`).exec(attributes)?.[1] ?? '';
    const result = /<(failure|error)/.test(body) ? 'failed' : /<skipped/.test(body) ? 'skipped' : 'passed';
    ended.set(`${value('classname')}.${value('name')}`, result);
  }
  return ended;
}

const count = (ended, wanted) => [...ended.values()].filter((result) => result === wanted).length;

const embedded = `
import { python } from ${JSON.stringify(new URL('../dist/python/index.js', import.meta.url).href)};
const py = python({ venv: process.argv[1] });
process.exitCode = Number(py.import('pytest').main(process.argv.slice(2)));
`;

async function runSuite(name, suite) {
  const reports = ['python', 'embedded'].map((side) => at('.cache/upstream', `${name.replace(' ', '-')}-${side}.xml`));
  for (const report of reports) rmSync(report, { force: true });
  await run(python, ['-m', 'pytest', ...argumentsFor(suite, reports[0])], { allowFailure: true, cwd: at('.cache') });
  const args = ['--input-type=module', '-e', embedded, at('.venv-upstream'), ...argumentsFor(suite, reports[1])];
  const { signal, code, output } = await run(process.execPath, args, { allowFailure: true, cwd: at('.cache') });
  let there, here;
  try {
    [there, here] = reports.map(readReport);
  } catch {
    console.log(`${name}: no report, ended with ${signal ?? code}\n${output.slice(-4000)}`);
    return 1;
  }
  const worse = [...there].filter(([test, result]) => result === 'passed' && here.get(test) !== 'passed');
  const counts = (ended) =>
    `${count(ended, 'passed')} passed, ${count(ended, 'failed')} failed, ${count(ended, 'skipped')} skipped`;
  console.log(`${name}: in Python ${counts(there)}; embedded ${counts(here)}; ${worse.length} worse`);
  for (const [test] of worse.slice(0, 20)) console.log(`  ${test}: ${here.get(test) ?? 'did not run'} here`);
  return worse.length + (count(there, 'passed') === 0 ? 1 : 0);
}

await main(async () => {
  const [filter = ''] = process.argv.slice(2);
  checkNode();
  await installPackages();
  await buildTypeScript();
  await buildNative();
  await installUpstream();
  await step('reports in .cache/upstream', () => {
    mkdirSync(at('.cache/upstream'), { recursive: true });
  });
  let failed = 0;
  for (const [name, suite] of Object.entries(suites)) {
    if (name.includes(filter)) failed += await runSuite(name, suite);
  }
  return failed > 0 ? 1 : 0;
});
