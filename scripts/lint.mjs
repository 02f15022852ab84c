// npm run lint: formatter and linter; npm run fix mends what can be mended.
import { checkNode, installPackages, tool } from './lib/setup.mjs';
import { main, run } from './lib/steps.mjs';

await main(async () => {
  checkNode();
  await installPackages();
  await run(tool('biome'), ['check', '--error-on-warnings', '.'], { show: true });
});
