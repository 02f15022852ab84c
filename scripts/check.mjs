// npm run check: the minute before a commit. Builds what changed, lints, and runs the unit tests. A built clone needs
// neither Python nor a network for it.
import { lint } from './lib/lint.mjs';
import { prepare } from './lib/needs.mjs';
import { runTests, summary } from './lib/run-tests.mjs';
import { main } from './lib/steps.mjs';

await main(async () => {
  const filter = 'tests/unit/';
  await prepare(filter);
  await lint({ isQuick: true });
  const total = await runTests({ command: process.execPath, args: ['--expose-gc'], filter });
  console.log(summary(total));
  return total.failed > 0 || total.passed === 0 ? 1 : 0;
});
