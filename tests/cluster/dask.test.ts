/** Dask with real workers: its futures are promises, and tensors are arguments and results. */

import { fromDLPack, Tensor } from 'dlpack';
import { equal, ok } from '../assert.js';
import { runChild } from '../child.js';
import { testWith } from '../harness.js';
import { define, py, rayMissing, rejection } from './available.js';

testWith(rayMissing, 'futures of Dask: results, tensors, errors, cancelling', async () => {
  const [client] = define(
    `
import distributed, numpy
client = distributed.Client(n_workers=1, threads_per_worker=2, dashboard_address=':0', processes=True)
`,
    'client',
  );
  equal(await py.async(client.submit(py.eval('abs'), -5)), 5);
  const x = Tensor.from(
    [
      [1, 2],
      [3, 4],
    ],
    { dtype: 'float32' },
  );
  const doubled = await py.async(client.submit(py.eval('numpy.multiply'), x, 2));
  equal(fromDLPack(doubled).toArray(), [
    [2, 4],
    [6, 8],
  ]);
  const large = Tensor.empty([2 ** 20], 'float64');
  large.fill(0.5);
  const sum = await py.async(client.submit(py.eval('numpy.sum'), client.scatter(large)));
  equal(Number(sum.item()), 2 ** 19);
  equal(
    await Promise.all(Array.from({ length: 20 }, (_, i) => py.async(client.submit(py.eval('abs'), -i)))),
    Array.from({ length: 20 }, (_, i) => i),
  );
  const error = await rejection(py.async(client.submit(py.eval('divmod'), 1, 0)));
  equal(error.type, 'ZeroDivisionError');
  const controller = new AbortController();
  const waiting = py.async(client.submit(py.import('time').sleep, 3600), { signal: controller.signal });
  controller.abort('enough');
  let reason: unknown;
  await waiting.catch((received: unknown) => {
    reason = received;
  });
  ok(reason === 'enough');
  await py.callAsync(client.close);
});

testWith(rayMissing, 'examples/cluster/dask.ts', () => {
  const { code, output } = runChild(import.meta.url, '../../examples/cluster/dask.js');
  equal(code, 0, output);
  for (const text of ['10 20 30', '100 200 300']) ok(output.includes(text), output);
});
