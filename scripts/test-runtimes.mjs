// npm run test:runtimes: runs the suite on every supported runtime, with the same addon. `-- bun` runs one runtime.
// `-- others` leaves out the Node that runs this script, because npm test has run the suite there.
import { runTests, summary } from './lib/run-tests.mjs';
import { installRuntimes, prepare, runtimePath, runtimes } from './lib/setup.mjs';
import { main } from './lib/steps.mjs';

await main(async () => {
  const [only = '', filter = ''] = process.argv.slice(2);
  await prepare();
  await installRuntimes();
  const all = { passed: 0, failed: 0, skipped: 0 };
  const lines = [];
  const own = `Node ${process.versions.node.split('.')[0]}`;
  const isWanted = ({ name, folder }) => (only === 'others' ? name !== own : folder.includes(only));
  if (only === 'others') console.log(`Without ${own}, where npm test runs`);
  for (const runtime of runtimes.filter(isWanted)) {
    console.log(`Tests on ${runtime.name}`);
    // Tests that check the repository instead of the running package have the same result everywhere, so only npm test
    // runs them. Failing allocations are tested on Node alone: the code is the same, and workers start slowly elsewhere.
    const excluded = runtime.folder.startsWith('node') ? /^(architecture|browser)/ : /^(architecture|browser|faults)/;
    const exclude = (file) => excluded.test(file);
    const total = await runTests({ command: runtimePath(runtime), args: runtime.args, filter, exclude });
    lines.push(`${runtime.name.padEnd(8)} ${summary(total)}`);
    for (const key of Object.keys(all)) all[key] += total[key];
  }
  console.log(`\n${lines.join('\n')}\n${summary(all)}`);
  return all.failed > 0 || all.passed === 0 ? 1 : 0;
});
