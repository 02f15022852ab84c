// npm run bench: runs all benchmarks, or the named ones, on Node 24: npm run bench -- exchange. Results go to bench/results.
// A benchmark with rounds takes their number: npm run bench -- server --rounds 3.
import { readdirSync } from 'node:fs';
import { installEnvironment, installFastAPI, installTorchvision } from './lib/environments.mjs';
import { prepare } from './lib/needs.mjs';
import { installRuntimes, reference, runtimePath } from './lib/runtimes.mjs';
import { at, main, run } from './lib/steps.mjs';

await main(async () => {
  const [filter = '', ...options] = process.argv.slice(2);
  await prepare();
  await installRuntimes();
  const files = readdirSync(at('build/bench')).filter((file) => file.endsWith('.bench.js') && file.includes(filter));
  if (files.includes('server.bench.js') || files.includes('alternatives.bench.js')) await installFastAPI();
  if (files.includes('values.bench.js')) await installTorchvision();
  if (files.includes('onnxruntime.bench.js'))
    await installEnvironment('.venv-onnxruntime', 'requirements/onnxruntime.txt');
  for (const file of files) {
    console.log(`\n${file}`);
    await run(runtimePath(reference), [...reference.args, at('build/bench', file), ...options], { show: true });
  }
});
