/** Starts a Ray cluster of so many nodes with so many CPUs each, times tasks that sleep, and prints the figures as JSON. */

import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { kwargs, python } from 'dlpack/python';
import { type ActorHandle, actor, get, init, remote, shutdown } from 'dlpack/ray';
import type * as workers from './cluster-workers.js';

const [nodes, cpus] = process.argv.slice(2).map(Number) as [number, number];
const py = python();
py.exec(`
import os, time
def nap(seconds): time.sleep(seconds)
class Actor:
    def pid(self): return os.getpid()
`);
const { Cluster } = py.import('ray.cluster_utils');
const node = { num_cpus: cpus, object_store_memory: 128 * 2 ** 20 };
const cluster = Cluster(kwargs({ initialize_head: true, head_node_args: { ...node, include_dashboard: false } }));
for (let i = 1; i < nodes; i++) cluster.add_node(kwargs(node));
await init({ address: cluster.address as string, loggingLevel: 'error', logToDriver: false });

const nap = remote<(seconds: number) => null>(py.eval('nap'));

/** Tasks a second: `width` at a time, until `count` are done. */
async function rate(milliseconds: number, width: number, count: number): Promise<number> {
  let left = count;
  const lane = async () => {
    while (left-- > 0) {
      const ref = nap.remoteSync(milliseconds / 1000);
      await get(ref);
      ref[Symbol.dispose]();
    }
  };
  const start = performance.now();
  await Promise.all(Array.from({ length: width }, lane));
  return (count * 1000) / (performance.now() - start);
}

const places = nodes * cpus;
// All workers have started when this ends.
await rate(200, places * 2, places * 10);
const ceiling = await rate(0, 64, 1000);
const rates: Record<number, number> = {};
for (const milliseconds of [1000, 200, 50, 10]) {
  rates[milliseconds] = await rate(milliseconds, places * 2, Math.round((places * 8000) / (milliseconds + 50)));
}

/** Memory that no other process shares, in MiB, and the processor seconds until now. */
function statusOf(pid: number): { memory: number; seconds: number } {
  const kilobytes = [...readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8').matchAll(/^Private_\w+:\s+(\d+)/gm)];
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return {
    memory: kilobytes.reduce((sum, [, number]) => sum + Number(number), 0) / 1024,
    seconds: (Number(fields[11]) + Number(fields[12])) / 100,
  };
}

async function inspect(handle: ActorHandle<{ pid(): number }>): Promise<{ memory: number; seconds: number }> {
  const pid = await get(await handle.pid.remote());
  await sleep(500);
  return statusOf(pid as number);
}

const inPython = await inspect(remote<new () => { pid(): number }>(py.eval('Actor'), { numCpus: 0 }).remoteSync());
const module = new URL('./cluster-workers.js', import.meta.url);
const inJavaScript = await inspect(await actor<typeof workers.Actor>(module, 'Actor', { numCpus: 0 }).remote());
await shutdown();
cluster.shutdown();
const memory = { python: inPython.memory, javascript: inJavaScript.memory };
const start = { python: inPython.seconds, javascript: inJavaScript.seconds };
console.log(JSON.stringify({ ceiling, rates, memory, start }));
