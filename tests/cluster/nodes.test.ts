/** Two nodes on one machine: objects move between them, and one of them dies. */

import { Tensor } from 'dlpack';
import { kwargs, type PyObject } from 'dlpack/python';
import { actor, get, init, kill, putSync, remote, shutdown, task } from 'dlpack/ray';
import { equal, ok } from '../assert.js';
import { testWith } from '../harness.js';
import { py, rayMissing, small } from './available.js';
import type * as workers from './workers.js';

const module = new URL('./workers.js', import.meta.url);
let cluster: PyObject;
let second: PyObject;

/** Ends a node as a power failure does: no process of it says goodbye. */
const cut = () => py.callAsync(cluster.remove_node, second, kwargs({ allow_graceful: false }));

testWith(rayMissing, 'two nodes start', async () => {
  const { Cluster } = py.import('ray.cluster_utils');
  const head = { num_cpus: 2, object_store_memory: small.objectStoreMemory, include_dashboard: false };
  cluster = Cluster(kwargs({ initialize_head: true, head_node_args: head })); // on this thread: it installs a handler
  const options = { num_cpus: 2, resources: { second: 4 }, object_store_memory: small.objectStoreMemory };
  second = cluster.add_node(kwargs(options));
  await init({ address: cluster.address as string, loggingLevel: 'error', logToDriver: false });
  equal([...py.import('ray').nodes()].length, 2);
});

testWith(rayMissing, 'a task on the other node gets a tensor, and its result comes back', async () => {
  const twice = task<typeof workers.twice>(module, 'twice', { resources: { second: 1 } });
  const x = Tensor.empty([4, 2 ** 18], 'float32');
  x.fill(3);
  const y = await get(twice.remoteSync(putSync(x)));
  equal([y.shape, y.get(3, 9), y.isReadOnly], [[4, 2 ** 18], 6, true]);
  py.exec('def where():\n    return __import__("ray").get_runtime_context().get_node_id()');
  const there = await get(remote<() => string>(py.eval('where'), { resources: { second: 1 } }).remoteSync());
  ok(there !== py.import('ray').get_runtime_context().get_node_id(), 'on another node');
});

testWith(
  rayMissing,
  'a node dies: tasks run again elsewhere, a lost object is made again, an actor moves',
  async () => {
    const make = task<typeof workers.make>(module, 'make', { schedulingStrategy: 'SPREAD', maxRetries: 5 });
    const { NodeAffinitySchedulingStrategy } = py.import('ray.util.scheduling_strategies');
    const there = NodeAffinitySchedulingStrategy(second.node_id, kwargs({ soft: true }));
    const lost = make.options({ schedulingStrategy: there }).remoteSync([2, 2 ** 18]);
    const Counter = actor<typeof workers.Counter>(module, 'Counter', { maxRestarts: -1, maxTaskRetries: -1 });
    const start = () => Counter.options({ numCpus: 0, schedulingStrategy: there }).remote(7);
    let counter = await start();
    // Ray may start an actor with a soft affinity on the other node.
    while ((await get(await counter.process.remote())).node !== second.node_id) {
      await kill(counter);
      counter = await start();
    }
    equal(await get(await counter.add.remote()), 8);
    const slow = task<typeof workers.slow>(module, 'slow', {
      numCpus: 0.5,
      schedulingStrategy: 'SPREAD',
      maxRetries: 5,
    });
    const running = Array.from({ length: 8 }, () => slow.remoteSync(500));
    await get(running[0] as (typeof running)[number]);
    await cut();
    equal(await get(running), Array(8).fill(500), 'no task is lost');
    const x = await get(lost);
    equal([x.get(1, 5), x.size], [1.5, 2 ** 19], 'the object is made again on the node that is left');
    // Its process may answer until it notices that its node is dead.
    while ((await get(await counter.process.remote())).node === second.node_id) await get(slow.remoteSync(50));
    equal(await get(await counter.add.remote()), 8, 'the actor started again, from its constructor');
  },
);

testWith(rayMissing, 'the cluster stops', async () => {
  await shutdown();
  cluster.shutdown();
});
