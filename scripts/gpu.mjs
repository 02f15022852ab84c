// npm run gpu: runs the tests of tests/gpu on this machine's GPU; `-- name` runs the files whose path contains it. npm
// run gpu -- pack: makes a folder .gpu that runs them on another machine.
import { packGpuSuite } from './lib/gpu-pack.mjs';
import { gpuMissing, runGpuSuite } from './lib/gpu-suite.mjs';
import { prepare } from './lib/needs.mjs';
import { main, root } from './lib/steps.mjs';

await main(async () => {
  const [argument = ''] = process.argv.slice(2);
  const missing = argument === 'pack' ? null : gpuMissing();
  if (missing !== null) {
    console.log(`tests/gpu did not run. Missing: ${missing}. For another machine: npm run gpu -- pack`);
    return process.env.CI ? 1 : 0;
  }
  await prepare();
  if (argument === 'pack') return packGpuSuite();
  return (await runGpuSuite(root, argument)) === 0 ? 0 : 1;
});
