/** Makes, shows and disposes more memory in one tick than the limit allows at once. Prints how much the peak grew. */

import { isMainThread, Worker, workerData } from 'node:worker_threads';
import { fromDLPack, scope, Tensor } from 'dlpack';
import { importManaged } from 'dlpack/native';
import { describeTensor, openTensor } from 'dlpack/shared';
import { printGrowth } from '../../peak.js';
import { peer } from '../peer.js';

const MiB = 2 ** 20;

/** Writes to every page, so that the system must have all of them. */
const touch = (array: ArrayBufferView): Uint8Array =>
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength).fill(1);

function show(x: Tensor): void {
  touch(x.data);
  x.dispose();
}

const loops: Record<string, (i: number) => void> = {
  own: () => show(Tensor.empty([MiB], 'uint8')),
  small: () => show(Tensor.empty([MiB - 4096], 'uint8')), // below the blocks that are kept
  zeros: () => show(Tensor.zeros([MiB], 'uint8')),
  set: () => {
    const x = Tensor.zeros([MiB], 'uint8').fill(1);
    x.set(5, 2);
    if (x.get(5) !== 2) throw new Error('wrong value');
    x.dispose();
  },
  using: () => {
    using x = Tensor.empty([MiB], 'uint8');
    touch(x.data);
  },
  scope: () => {
    scope(() => touch(Tensor.from(Tensor.empty([MiB], 'uint8')).slice([1, null]).data));
  },
  adopted: () => show(Tensor.adopt(new Uint8Array(MiB).fill(2))),
  imported: () => show(importManaged(peer.makeBlock(MiB, true))),
  external: () => show(fromDLPack(peer.makeExternal({ shape: [BigInt(MiB)], code: 1, bits: 8, nbytes: MiB }))),
  shared: () => {
    using x = Tensor.empty([MiB], 'uint8', { shareable: true });
    show(openTensor(describeTensor(x)));
  },
};

const [, , name = '', where] = process.argv;
if (where === 'worker' && isMainThread) new Worker(new URL(import.meta.url), { argv: [name], workerData: 'inside' });
else if (where !== 'worker' || workerData === 'inside') printGrowth(3000, loops[name] as (i: number) => void);
