// npm test: runs the set-up, lint, and all tests on this runtime. `npm test -- name` runs the files whose path contains
// it.
import { runTests, summary } from './lib/run-tests.mjs';
import { formatNative, installBrowser, installFormatter, prepare, tool } from './lib/setup.mjs';
import { main, run, step } from './lib/steps.mjs';

await main(async () => {
  const [filter = ''] = process.argv.slice(2);
  await prepare();
  await installBrowser();
  if (filter === '') {
    await installFormatter();
    await step('lint and format', async () => {
      await formatNative(['--dry-run', '--Werror']);
      await run(tool('biome'), ['check', '--error-on-warnings', '.']);
    });
  }
  console.log(`Tests on Node ${process.versions.node}`);
  // These tests fill large tensors through `.data`, which is a copy if external ArrayBuffers are forbidden.
  const exclude = (file) => process.env.DLPACK_NO_EXTERNAL_BUFFERS === '1' && /^unit.values.rows/.test(file);
  const total = await runTests({ command: process.execPath, args: ['--expose-gc'], filter, exclude });
  console.log(summary(total));
  return total.failed > 0 || total.passed === 0 ? 1 : 0;
});
