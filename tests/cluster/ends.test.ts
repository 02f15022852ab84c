/**
 * Programs that forget `shutdown()`, a Dask client or shared memory end cleanly, and signals stay the runtime's.
 * ROUNDS sets how often the programs run that forget something. The others run once.
 */

import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { equal, ok } from '../assert.js';
import { runChild } from '../child.js';
import { testWith } from '../harness.js';
import { rayMissing } from './available.js';

const programs: readonly (readonly [what: string, way: string, ended: string])[] = [
  ['ray', 'exit', '3: RuntimeError'],
  ['ray', 'shutdown', '0: RuntimeError'],
  ['ray', 'term', '7: RuntimeError\nJavaScript'],
  ['ray in place', 'term', '7: RuntimeError\nJavaScript'],
  ['memory', 'end', '0: RuntimeError'],
  ['dask', 'end', '0: RuntimeError'],
  ['ray of others', 'end', '0: RuntimeError'],
  ['ray', 'end', '0: RuntimeError'],
];

/** Notes and warnings of Dask and Ray, such as those about workers and event loops that a busy machine slows down. */
const logLine = /^(\d{4}-\d\d-\d\d .* - (INFO|WARNING) - |\[\d{4}-\d\d-\d\d [^\]]* [IW] |\S*\(raylet\))/;

/** A cluster that this process did not start with `init`. It stops when its input ends, with this process. */
const cluster = `
import sys
from ray.cluster_utils import Cluster
head = dict(num_cpus=0, object_store_memory=128 * 2**20, include_dashboard=False)
cluster = Cluster(initialize_head=True, head_node_args=head)
print('ADDRESS', cluster.address, flush=True)
sys.stdin.read()
cluster.shutdown()
`;
let address = '';

testWith(rayMissing, 'a cluster for programs that connect to it', async () => {
  const python = join(process.env.VIRTUAL_ENV ?? '', 'bin/python');
  const { stdout } = spawn(python, ['-c', cluster], { stdio: ['pipe', 'pipe', 'ignore'] });
  for await (const line of createInterface({ input: stdout })) {
    if (line.startsWith('ADDRESS ')) address = line.slice(8);
    if (address !== '') break;
  }
  ok(address !== '', 'no cluster');
});

for (const [what, way, ended] of programs) {
  for (let round = 1; round <= (way === 'end' ? Number(process.env.ROUNDS ?? 1) : 1); round++) {
    testWith(rayMissing, `${what}, ${way}, round ${round}`, () => {
      const { code, signal, output } = runChild(import.meta.url, './children/driver.js', {
        args: [what, way, address],
      });
      const own = output.split('\n').filter((line) => !logLine.test(line));
      equal(`${signal ?? code}: ${own.join('\n').trim()}`, ended, output);
    });
  }
}
