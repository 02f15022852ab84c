/** One kind of exchange with one and with a million tensors alive; prints JSON. */

import { createRequire } from 'node:module';
import { fromDLPack, Tensor } from 'dlpack';
import { exportManaged, importManaged } from 'dlpack/native';
import { sample, summarise } from './measure.js';

const COUNT = 1_000_000;
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
const make = kinds[process.argv[2] ?? ''] as () => Tensor;
const batch = (n: number) => {
  for (let i = 0; i < n; i++) make().dispose();
};
const time = () => summarise(sample(batch, 20_000, 15)).median;

async function settledBytes(): Promise<number> {
  for (let i = 0; i < 5; i++) {
    (globalThis as { gc?: () => void }).gc?.();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  const { rss, heapTotal, heapUsed } = process.memoryUsage();
  return rss - heapTotal + heapUsed;
}

time();
const alone = time();
const kept = new Array<Tensor>(COUNT);
const before = await settledBytes();
for (let i = 0; i < COUNT; i++) kept[i] = make();
await new Promise((resolve) => setTimeout(resolve, 10));
const bytes = ((await settledBytes()) - before) / COUNT;
time();
console.log(JSON.stringify({ bytes, alone, crowded: time(), kept: kept.length }));
