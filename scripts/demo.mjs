// npm run demo: builds a fresh clone and sends a tensor into an addon, a worker and a kernel and back.
import { buildNative } from './lib/native.mjs';
import {
  buildExampleAddon,
  buildKernels,
  buildTests,
  buildTypeScript,
  checkNode,
  installDemoPackages,
  installPackages,
} from './lib/setup.mjs';
import { at, main, run } from './lib/steps.mjs';

await main(async () => {
  checkNode();
  console.log('Set-up');
  await installPackages();
  await buildTypeScript();
  await buildNative();
  await buildTests();
  await buildExampleAddon();
  await installDemoPackages();
  await buildKernels();
  const { code } = await run(process.execPath, [at('build/demo/demo.js')], { show: true, allowFailure: true });
  return code ?? 1;
});
