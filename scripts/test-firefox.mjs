// npm run test:firefox: the tests of tests/browser in Firefox, with WebGPU on Chromium's software adapter where it is
// installed. `-- libraries` runs the files whose path contains the word.

import { installApt } from './lib/apt.mjs';
import { findFirefox, softwareAdapter } from './lib/browser.mjs';
import { prepare } from './lib/needs.mjs';
import { runTests, summary } from './lib/run-tests.mjs';
import { main } from './lib/steps.mjs';

await main(async () => {
  const [filter = ''] = process.argv.slice(2);
  await prepare('tests/browser/');
  if (findFirefox() === null) await installApt('firefox-esr', ['firefox-esr', 'chromium']);
  const path = findFirefox();
  console.log(`Tests in ${path}, WebGPU by ${softwareAdapter() ?? 'its own adapters'}`);
  const exclude = (file) => !/^browser/.test(file) || /dawn/.test(file);
  const env = { CHROME_PATH: path };
  // One at a time, because Firefox starts many processes.
  const total = await runTests({
    command: process.execPath,
    args: ['--expose-gc'],
    filter: filter === '' ? 'browser' : filter,
    exclude,
    env,
    workers: 1,
  });
  console.log(summary(total));
  return total.failed > 0 || total.passed === 0 ? 1 : 0;
});
