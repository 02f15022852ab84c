/** JavaScript memory is released before, during and after the end of its environment. */

import { Worker } from 'node:worker_threads';
import { Tensor } from 'dlpack';
import { liveCounts } from 'dlpack/debug';
import { addressOf, exportManaged } from 'dlpack/native';
import { peer, peerMissing } from '../peer.js';
import type { Task } from './worker.js';

const [how] = process.argv.slice(2);

if (how === 'workers') {
  const memory = Tensor.zeros([4], 'uint8');
  const before = liveCounts().imports;
  for (let i = 0; i < 12; i++) {
    const worker = new Worker(new URL('./worker.js', import.meta.url));
    const task: Task = { do: 'queue', address: addressOf(memory), count: 64 };
    await new Promise((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
      worker.postMessage(task);
    });
    await worker.terminate();
  }
  // Deno reports the end of a worker before its thread has ended.
  for (let i = 0; i < 2000 && liveCounts().imports !== before; i++)
    await new Promise((resolve) => setTimeout(resolve, 10));
  if (memory.get(0) !== 0) throw new Error('the memory is not the workers’');
  console.log(
    'late',
    liveCounts().imports === before ? 'and none is left' : `and ${liveCounts().imports - before} are left`,
  );
}

if (how === 'exit') {
  const addresses = new BigUint64Array(2000);
  for (let i = 0; i < addresses.length; i++) {
    const adopted = Tensor.adopt(new Uint8Array(64));
    addresses[i] = exportManaged(adopted);
    adopted.dispose();
  }
  for (let i = 0; i < 100; i++) Tensor.adopt(new Uint8Array(64)).dispose();
  if (peerMissing === false) {
    peer.deleteOnThreads(addresses, 8);
    peer.leaveThreads();
  }
  console.log('late');
  process.exit(0);
}
