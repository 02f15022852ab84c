/**
 * One kind of exchange with a given number of live tensors. Prints the bytes of each tensor, then times a batch on each
 * request.
 */

import { createRequire } from 'node:module';
import { fromDLPack, Tensor } from 'dlpack';
import { exportManaged, importManaged } from 'dlpack/native';
import { sample, summarise } from './measure.js';

const peer = createRequire(import.meta.url)('../native/peer.node') as { makeLean(): bigint };
const x = Tensor.from(
  [
    [1, 2, 3],
    [4, 5, 6],
  ],
  { dtype: 'float32' },
);
const kinds: Record<string, () => Tensor> = {
  share: () => fromDLPack(x),
  import: () => importManaged(exportManaged(x)),
  'import-foreign': () => importManaged(peer.makeLean()),
  allocate: () => Tensor.empty([0], 'float32'),
};
const [, , kind = '', count = '1'] = process.argv;
const make = kinds[kind] as () => Tensor;
const COUNT = Number(count);
const batch = (n: number) => {
  for (let i = 0; i < n; i++) make().dispose();
};
async function settledBytes(): Promise<number> {
  for (let i = 0; i < 5; i++) {
    (globalThis as { gc?: () => void }).gc?.();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  const { rss, heapTotal, heapUsed } = process.memoryUsage();
  return rss - heapTotal + heapUsed;
}

sample(batch, 20_000, 15);
const before = await settledBytes();
const kept = new Array<Tensor>(COUNT);
for (let i = 0; i < COUNT; i++) kept[i] = make();
await new Promise((resolve) => setTimeout(resolve, 10));
process.send?.(((await settledBytes()) - before) / COUNT);
sample(batch, 20_000, 15);
process.on('message', () => process.send?.(summarise(sample(batch, 10_000, 3)).median));
process.on('disconnect', () => process.exit(kept.length === COUNT ? 0 : 1));
