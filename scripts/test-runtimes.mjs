// npm run test:runtimes: runs the suite on every supported runtime, with the same addon. `-- bun` runs one runtime.
// `-- others` leaves out the Node that runs this script, because npm test has run the suite there, and `--short` the
// longest tests that depend least on the runtime. With `--again`, a file that fails runs once more, alone.

import { prepare } from './lib/needs.mjs';
import { runTests, summary } from './lib/run-tests.mjs';
import { installRuntimes, runtimePath, runtimes } from './lib/runtimes.mjs';
import { main } from './lib/steps.mjs';

/**
 * Tests that other runtimes leave out. Failing allocations: the code is the same, and workers start slowly elsewhere. The
 * example servers: they are programs for Node. The device of ONNX Runtime: its library for tests reads variables of the
 * environment, which Bun does not hand to native code.
 */
const onNode = [
  'architecture',
  'browser',
  'faults',
  'examples/python-server',
  'onnxruntime/server',
  'onnxruntime/device.test',
];

/**
 * Tests that `--short` leaves out: half of the time, mostly in programs and Python libraries that they start. npm test runs
 * them on one runtime, and the workflow of the night on all.
 */
const long = [
  'cli',
  'conformance',
  'cuda/files',
  'docs',
  'examples',
  'faults',
  'files/python',
  'interop/python/conformance',
  'interop/python/hazards',
  'interop/tvm-ffi/compile',
  'interop/tvm-ffi/python',
  'interop/values/minifloat',
  'native/convert',
];

await main(async () => {
  const options = process.argv.slice(2);
  const isShort = options.includes('--short');
  const again = options.includes('--again');
  const [only = '', filter = ''] = options.filter((option) => !option.startsWith('--'));
  await prepare(filter);
  await installRuntimes();
  const all = { passed: 0, failed: 0, skipped: 0 };
  const lines = [];
  const own = `Node ${process.versions.node.split('.')[0]}`;
  const isWanted = ({ name, folder }) => (only === 'others' ? name !== own : folder.includes(only));
  if (only === 'others') console.log(`Without ${own}, where npm test runs`);
  if (isShort) console.log(`Without ${long.join(', ')}`);
  for (const runtime of runtimes.filter(isWanted)) {
    console.log(`Tests on ${runtime.name}`);
    // Tests that check the repository instead of the running package have the same result everywhere, so only npm test
    // runs them.
    const excluded = [
      ...(runtime.folder.startsWith('node') ? ['architecture', 'browser'] : onNode),
      ...(isShort ? long : []),
    ];
    const exclude = (file) => excluded.some((start) => file.startsWith(start));
    const total = await runTests({ command: runtimePath(runtime), args: runtime.args, filter, exclude, again });
    lines.push(`${runtime.name.padEnd(8)} ${summary(total)}`);
    for (const key of Object.keys(all)) all[key] += total[key];
  }
  console.log(`\n${lines.join('\n')}\n${summary(all)}`);
  return all.failed > 0 || all.passed === 0 ? 1 : 0;
});
