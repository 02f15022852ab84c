// npm run build: builds the package from a fresh clone. `-- --debug` also builds an addon for debuggers.
import { buildDebug, buildNative } from './lib/native.mjs';
import { buildTypeScript, checkNode, installPackages } from './lib/setup.mjs';
import { main } from './lib/steps.mjs';

await main(async () => {
  checkNode();
  await installPackages();
  await buildTypeScript();
  await buildNative();
  if (process.argv.includes('--debug')) await buildDebug();
});
