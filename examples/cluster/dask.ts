/** Dask from JavaScript: tasks in other processes, with tensors as arguments and results. */

import { fileURLToPath } from 'node:url';
import { fromDLPack, Tensor } from 'dlpack';
import { callAsync, kwargs, python } from 'dlpack/python';

const py = python();
// Worker processes import tasks.py by its name. Code of `py.exec` has no file that they could import.
const folder = fileURLToPath(new URL('../../../examples/cluster', import.meta.url));
py.import('sys').path.append(folder);
const { Client, LocalCluster } = py.import('distributed');
const { scale } = py.import('tasks');

const cluster = await callAsync(
  LocalCluster,
  kwargs({ n_workers: 2, threads_per_worker: 1, dashboard_address: null, env: { PYTHONPATH: folder } }),
);
const client = await callAsync(Client, cluster);

const x = Tensor.from([1, 2, 3], { dtype: 'float32' });
const futures = [10, 100].map((factor) => client.submit(scale, x, factor)); // pickled for the worker, as a NumPy array
for (const future of futures) {
  const result = await py.async(future); // no thread waits
  console.log(fromDLPack(result, { dtype: 'float32' }).data.join(' ')); // 10 20 30, and 100 200 300
}

await callAsync(client.close);
await callAsync(cluster.close);
