// npm run soak -- [--minutes n]: exchanges tensors with every peer for that time, and prints counts, memory and
// latencies. An hour or more writes bench/results/soak.md. `npm run soak -- ray` runs tasks and actors on a Ray cluster of
// this machine, while it kills their processes at random; an hour or more writes bench/results/soak-ray.md.
import { parseArgs } from 'node:util';
import { installCluster } from './lib/environments.mjs';
import { prepare } from './lib/needs.mjs';
import { at, main, run } from './lib/steps.mjs';

await main(async () => {
  const { values, positionals } = parseArgs({
    options: { minutes: { type: 'string', default: '1' } },
    allowPositionals: true,
  });
  const isRay = positionals[0] === 'ray';
  await prepare();
  if (isRay) await installCluster();
  const name = isRay ? 'soak-ray.md' : 'soak.md';
  const report = Number(values.minutes) < 60 ? `.cache/${name}` : `bench/results/${name}`;
  const program = isRay ? 'build/tests/cluster/soak.js' : 'build/tests/soak/soak.js';
  const env = isRay ? { VIRTUAL_ENV: at('.venv-cluster') } : {};
  const args = ['--expose-gc', at(program), '--seconds', String(Number(values.minutes) * 60)];
  const { code } = await run(process.execPath, [...args, '--report', at(report)], {
    show: true,
    allowFailure: true,
    env,
  });
  return code;
});
