// npm run test:cluster: runs the tests with real Ray and Dask clusters on this machine. `-- nodes` runs the files whose
// path contains that, `-- ends --runtime bun --rounds 100` runs them on another runtime, and programs a hundred times.
import { parseArgs } from 'node:util';
import { installCluster } from './lib/environments.mjs';
import { installLibraries } from './lib/libraries.mjs';
import { buildNative } from './lib/native.mjs';
import { runTests, summary } from './lib/run-tests.mjs';
import { installRuntimes, runtimePath, runtimes } from './lib/runtimes.mjs';
import { buildTests, buildTypeScript, checkNode, installPackages } from './lib/setup.mjs';
import { at, Missing, main } from './lib/steps.mjs';

await main(async () => {
  const options = { runtime: { type: 'string' }, rounds: { type: 'string', default: '1' } };
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const [filter = ''] = positionals;
  checkNode();
  await installPackages();
  await buildTypeScript();
  await buildNative();
  await buildTests();
  await installCluster();
  await installLibraries();
  let program = { command: process.execPath, args: ['--expose-gc'] };
  if (values.runtime !== undefined) {
    const runtime = runtimes.find(({ folder }) => folder === values.runtime);
    if (runtime === undefined) throw new Missing(`a runtime: ${runtimes.map(({ folder }) => folder).join(', ')}`);
    await installRuntimes();
    program = { command: runtimePath(runtime), args: runtime.args };
  }
  const env = { VIRTUAL_ENV: at('.venv-cluster'), ROUNDS: values.rounds };
  // One file at a time, because each starts the processes of a cluster.
  const total = await runTests({ ...program, folder: at('build/tests/cluster'), filter, env, workers: 1 });
  console.log(summary(total));
  return total.failed > 0 || total.passed === 0 ? 1 : 0;
});
