// npm run soak -- [--minutes n]: exchanges tensors with every peer for that time, and prints counts, memory and
// latencies. An hour or more writes bench/results/soak.md. `npm run soak -- ray` runs tasks and actors on a Ray cluster of
// this machine, while it kills their processes at random; an hour or more writes bench/results/soak-ray.md. `npm run soak
// -- server` keeps examples/python-server at full load; an hour or more writes bench/results/server-soak.md.
import { parseArgs } from 'node:util';
import { installCluster } from './lib/environments.mjs';
import { prepare } from './lib/needs.mjs';
import { installRuntimes, reference, runtimePath } from './lib/runtimes.mjs';
import { at, main, run } from './lib/steps.mjs';

/** What each soak runs, and the name of its page. */
const soaks = {
  peers: { program: 'build/tests/soak/soak.js', page: 'soak.md' },
  ray: { program: 'build/tests/cluster/soak.js', page: 'soak-ray.md', env: { VIRTUAL_ENV: at('.venv-cluster') } },
  server: { program: 'build/bench/server-soak.js', page: 'server-soak.md' },
};

await main(async () => {
  const { values, positionals } = parseArgs({
    options: { minutes: { type: 'string', default: '1' } },
    allowPositionals: true,
  });
  const [name = 'peers'] = positionals;
  if (!Object.hasOwn(soaks, name)) throw new Error(`Expected one of ${Object.keys(soaks)} but received '${name}'`);
  const { program, page, env = {} } = soaks[name];
  await prepare();
  await installRuntimes();
  if (name === 'ray') await installCluster();
  const report = `${Number(values.minutes) < 60 ? '.cache' : 'bench/results'}/${page}`;
  const args = [...reference.args, at(program), '--seconds', String(Number(values.minutes) * 60)];
  const { code } = await run(runtimePath(reference), [...args, '--report', at(report)], {
    show: true,
    allowFailure: true,
    env,
  });
  return code;
});
