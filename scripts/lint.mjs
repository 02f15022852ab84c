// npm run lint: runs the formatters and the linter. npm run fix (lint --fix) applies their fixes.
import { checkNode, formatNative, installFormatter, installPackages, tool } from './lib/setup.mjs';
import { main, run } from './lib/steps.mjs';

await main(async () => {
  checkNode();
  await installPackages();
  await installFormatter();
  const fixes = process.argv.includes('--fix');
  await formatNative(fixes ? ['-i'] : ['--dry-run', '--Werror'], { show: true });
  await run(tool('biome'), ['check', fixes ? '--write' : '--error-on-warnings', '.'], { show: true });
});
