/** A program that uses Ray or Dask, and forgets something. What, and how it ends, is in the arguments. */

import { python } from 'dlpack/python';
import { get, init, putSync, shutdown } from 'dlpack/ray';
import { trap } from '../../trap.js';
import { start } from '../available.js';

const [what, way, address] = process.argv.slice(2) as [string, string, string];
const py = python(way === 'python' ? { signals: 'python' } : {});

const starts: Record<string, () => Promise<void>> = {
  async ray() {
    await start({ numCpus: 0 }); // no processes for tasks, which need seconds to start on a busy machine
    if ((await get(putSync(5))) !== 5) throw new Error('ray');
  },
  /** Connects to a cluster that runs already. */
  async 'ray of others'() {
    await init({ address, loggingLevel: 'error', logToDriver: false });
    if ((await get(putSync(5))) !== 5) throw new Error('ray');
  },
  /** On the JavaScript thread, where Ray also takes SIGTERM. */
  async 'ray in place'() {
    py.import('ray').init(
      py.kwargs({
        address: 'local',
        num_cpus: 1,
        include_dashboard: false,
        logging_level: 'error',
        object_store_memory: 128 * 2 ** 20,
      }),
    );
  },
  async dask() {
    py.exec(`
import distributed, logging
logging.getLogger('distributed').setLevel('ERROR')  # it warns when its own workers end
client = distributed.Client(n_workers=1, threads_per_worker=1, dashboard_address=':0', processes=True)
`);
    if ((await py.async(py.eval('client.submit(abs, -5)'))) !== 5) throw new Error('dask');
  },
  async memory() {
    py.exec(`
from multiprocessing import shared_memory
memory = shared_memory.SharedMemory(create=True, size=64)
memory.unlink()
`);
  },
};

await starts[what]?.();
const caught = trap();
console.log(caught instanceof Error ? caught.constructor.name : String(caught));
if (way === 'shutdown') await shutdown();
else if (way === 'exit') process.exit(3);
else if (way === 'term') {
  process.on('SIGTERM', () => {
    console.log('JavaScript');
    process.exit(7);
  });
  process.kill(process.pid, 'SIGTERM');
  setTimeout(() => process.exit(5), 120_000);
}
