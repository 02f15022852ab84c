// npm run bench: runs all benchmarks, or the named ones: npm run bench -- exchange. Results go to bench/results.
import { readdirSync } from 'node:fs';
import { prepare } from './lib/setup.mjs';
import { at, main, run } from './lib/steps.mjs';

await main(async () => {
  const [filter = ''] = process.argv.slice(2);
  await prepare();
  for (const file of readdirSync(at('build/bench')).filter((f) => f.endsWith('.bench.js') && f.includes(filter))) {
    console.log(`\n${file}`);
    await run(process.execPath, ['--expose-gc', at('build/bench', file)], { show: true });
  }
});
