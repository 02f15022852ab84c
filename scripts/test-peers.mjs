// npm run test:peers: exchanges tensors with Python libraries that are large or rare, in .venv-peers. `PEER=Warp npm run
// test:peers` runs one of them.
import { installPeers } from './lib/environments.mjs';
import { buildNative } from './lib/native.mjs';
import { runTests, summary } from './lib/run-tests.mjs';
import { buildTests, buildTypeScript, checkNode, installPackages } from './lib/setup.mjs';
import { at, main } from './lib/steps.mjs';

await main(async () => {
  checkNode();
  await installPackages();
  await buildTypeScript();
  await buildNative();
  await buildTests();
  await installPeers();
  const folder = at('build/tests/peers');
  const filter = process.env.PEER === undefined ? '' : 'peers.test';
  const total = await runTests({ command: process.execPath, args: ['--expose-gc'], folder, filter });
  console.log(summary(total));
  return total.failed > 0 || total.passed === 0 ? 1 : 0;
});
