// npm test: runs the set-up, lint, and all tests on this runtime. `npm test -- name` runs the files whose path contains
// it. With `--again`, a file that fails runs once more, alone.
import { installLinters, lint } from './lib/lint.mjs';
import { prepare } from './lib/needs.mjs';
import { runTests, summary } from './lib/run-tests.mjs';
import { main } from './lib/steps.mjs';

await main(async () => {
  const options = process.argv.slice(2);
  const again = options.includes('--again');
  const [filter = ''] = options.filter((option) => option !== '--again');
  await prepare(filter);
  if (filter === '') {
    await installLinters();
    await lint();
  }
  console.log(`Tests on Node ${process.versions.node}`);
  // New tensors use no blocks of native memory if external ArrayBuffers are forbidden.
  const exclude = (file) => process.env.DLPACK_NO_EXTERNAL_BUFFERS === '1' && /^native.(large-blocks|reuse)/.test(file);
  const total = await runTests({ command: process.execPath, args: ['--expose-gc'], filter, exclude, again });
  console.log(summary(total));
  return total.failed > 0 || total.passed === 0 ? 1 : 0;
});
