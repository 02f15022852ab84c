// npm run demo: builds a fresh clone, installs NumPy and ONNX Runtime, and runs `dlpack demo`.

import { installDemoPython } from './lib/environments.mjs';
import { demoFolder, installDemoRuntime } from './lib/libraries.mjs';
import { buildNative } from './lib/native.mjs';
import { buildTypeScript, checkNode, installPackages } from './lib/setup.mjs';
import { at, main, planSteps, run } from './lib/steps.mjs';

await main(async () => {
  checkNode();
  const steps = [installPackages, buildTypeScript, buildNative, installDemoPython, installDemoRuntime];
  planSteps(steps.length);
  for (const step of steps) await step();
  console.log();
  const { code } = await run(process.execPath, [at('dist/cli/main.js'), 'demo'], {
    cwd: at(demoFolder()),
    env: { VIRTUAL_ENV: at('.venv') },
    show: true,
    allowFailure: true,
  });
  return code ?? 1;
});
