// npm run lint: runs the formatters and the linters. npm run fix (lint --fix) applies their fixes.
import { installLinters, lint } from './lib/lint.mjs';
import { checkNode, installPackages } from './lib/setup.mjs';
import { main } from './lib/steps.mjs';

await main(async () => {
  checkNode();
  await installPackages();
  await installLinters();
  await lint({ fixes: process.argv.includes('--fix') });
});
