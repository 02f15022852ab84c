// npm run test:bundlers: tests the packed package with bundlers, test runners, package managers and a notebook. `-- types`
// runs one test file.
import { installBundlers, packForBundlers } from './lib/bundlers.mjs';
import { installNotebook } from './lib/environments.mjs';
import { buildNative } from './lib/native.mjs';
import { runTests, summary } from './lib/run-tests.mjs';
import { installRuntimes } from './lib/runtimes.mjs';
import { buildTests, buildTypeScript, checkNode, installPackages } from './lib/setup.mjs';
import { at, main } from './lib/steps.mjs';

await main(async () => {
  const [filter = ''] = process.argv.slice(2);
  checkNode();
  await installPackages();
  await buildTypeScript();
  await buildNative();
  await buildTests();
  await installRuntimes();
  await installNotebook();
  await installBundlers();
  await packForBundlers();
  const total = await runTests({ command: process.execPath, args: [], folder: at('build/tests/bundlers'), filter });
  console.log(summary(total));
  return total.failed > 0 || total.passed === 0 ? 1 : 0;
});
