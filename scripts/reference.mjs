// npm run reference: checks the doc comments of everything that the package exports, and prints what is missing.
import { installSite } from './lib/site.mjs';
import { main, run } from './lib/steps.mjs';

await main(async () => {
  await installSite();
  return (await run('node', ['site/reference.mjs', '--check'], { show: true, allowFailure: true })).code;
});
