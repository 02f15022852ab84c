// npm run soak -- [--minutes n]: exchanges tensors with every peer for that time, and prints counts, memory and
// latencies. An hour or more writes bench/results/soak.md.
import { parseArgs } from 'node:util';
import { prepare } from './lib/setup.mjs';
import { at, main, run } from './lib/steps.mjs';

await main(async () => {
  const { values } = parseArgs({ options: { minutes: { type: 'string', default: '1' } } });
  await prepare();
  const report = Number(values.minutes) < 60 ? '.cache/soak.md' : 'bench/results/soak.md';
  const args = ['--expose-gc', at('build/tests/soak/soak.js'), '--seconds', String(Number(values.minutes) * 60)];
  const { code } = await run(process.execPath, [...args, '--report', at(report)], {
    show: true,
    allowFailure: true,
  });
  return code;
});
