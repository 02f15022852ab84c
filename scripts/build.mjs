// npm run build: builds the package from a fresh clone.
import { buildNative } from './lib/native.mjs';
import { buildTypeScript, checkNode, installPackages } from './lib/setup.mjs';
import { main } from './lib/steps.mjs';

await main(async () => {
  checkNode();
  await installPackages();
  await buildTypeScript();
  await buildNative();
});
