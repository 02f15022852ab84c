/** torch.distributed between two Node processes: all_reduce adds JavaScript memory in place. Linux and macOS. */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Tensor } from 'dlpack';
import { callAsync, kwargs, python } from 'dlpack/python';

const RANKS = 2;

/** One rank. Its gradients are JavaScript memory, and PyTorch writes the sum of all ranks there. */
async function work(rank: number, store: string): Promise<void> {
  const py = python();
  const torch = py.import('torch');
  const dist = py.import('torch.distributed');
  await callAsync(
    dist.init_process_group,
    kwargs({ backend: 'gloo', init_method: `file://${store}`, rank, world_size: RANKS }),
  );
  const gradients = Tensor.from([rank + 1, 10 * (rank + 1), 0.5], { dtype: 'float32' });
  await callAsync(dist.all_reduce, torch.from_dlpack(gradients)); // the event loop keeps running while ranks wait for each other
  console.log(`rank ${rank}: ${gradients.data.join(' ')}`); // rank 0: 3 30 1, and rank 1: 3 30 1
  dist.destroy_process_group();
  process.disconnect?.(); // the channel to the parent would keep this process alive
}

async function start(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'all-reduce-'));
  // The ranks of this example talk on one machine.
  const env = { ...process.env, GLOO_SOCKET_IFNAME: process.platform === 'darwin' ? 'lo0' : 'lo' };
  const ranks = Array.from({ length: RANKS }, (_, rank) =>
    fork(fileURLToPath(import.meta.url), [String(rank), join(folder, 'store')], { env }),
  );
  const ends = await Promise.all(ranks.map((rank) => once(rank, 'exit')));
  rmSync(folder, { recursive: true });
  if (ends.some(([code]) => code !== 0))
    throw new Error(`the ranks ended with ${ends.map(([code]) => code).join(' and ')}`);
}

const [rank, store] = process.argv.slice(2);
if (store === undefined) await start();
else await work(Number(rank), store);
