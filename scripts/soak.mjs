// npm run soak -- [--minutes n]: exchanges with every peer for so long, and prints counts, memory and latencies as it goes.
import { parseArgs } from 'node:util';
import { prepare } from './lib/setup.mjs';
import { at, main, run } from './lib/steps.mjs';

await main(async () => {
  const { values } = parseArgs({ options: { minutes: { type: 'string', default: '1' } } });
  await prepare();
  const args = ['--expose-gc', at('build/tests/soak/soak.js'), '--seconds', String(Number(values.minutes) * 60)];
  const { code } = await run(process.execPath, [...args, '--report', at('.cache/soak.md')], {
    show: true,
    allowFailure: true,
  });
  return code;
});
