// npm run explorer: builds the tensor explorer, one file that any browser opens: build/explorer/index.html.
import { buildExplorer } from './lib/explorer.mjs';
import { buildTypeScript, installPackages } from './lib/setup.mjs';
import { main, step } from './lib/steps.mjs';

await main(async () => {
  await installPackages();
  await buildTypeScript();
  await step('build/explorer/index.html', async () => `${await buildExplorer()} bytes`);
});
