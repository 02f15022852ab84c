/** A million exchanges of each kind; native memory and live counts must not grow. */

import { fromDLPack, Tensor } from 'dlpack';
import { liveCounts } from 'dlpack/debug';
import { exportManaged, importManaged, releaseManaged } from 'dlpack/native';
import { collect, collectUntil } from '../../harness.js';

const x = Tensor.from(
  [
    [1, 2, 3],
    [4, 5, 6],
  ],
  { dtype: 'float32' },
);
const kinds: Record<string, () => void> = {
  share: () => fromDLPack(x).dispose(),
  export: () => releaseManaged(exportManaged(x)),
  import: () => importManaged(exportManaged(x)).dispose(),
  legacy: () => importManaged(exportManaged(x, { versioned: false }), { versioned: false }).dispose(),
  allocate: () => Tensor.empty([16], 'float32').dispose(),
  view: () => x.transpose().dispose(),
};
const leaked: string[] = [];
for (const [name, exchange] of Object.entries(kinds)) {
  const nativeBytes = () => {
    const { rss, heapTotal } = process.memoryUsage();
    return rss - heapTotal; // without the space that the collector sets aside
  };
  const run = (count: number) => {
    for (let i = 0; i < count; i++) exchange();
    return collect();
  };
  await run(100_000);
  await run(100_000);
  const [before, live] = [nativeBytes(), liveCounts() as unknown as Record<string, number>];
  await run(1_000_000);
  // One leaked allocation of 16 bytes for each exchange would be 16 MB. Threads of the runtime may release memory later.
  const hasMore = () => Object.entries(liveCounts()).some(([key, value]) => value > (live[key] as number));
  const isFlat = await collectUntil(() => nativeBytes() - before < 12e6 && !hasMore());
  if (!isFlat)
    leaked.push(`${name}: ${((nativeBytes() - before) / 1e6).toFixed(1)} MB, ${JSON.stringify(liveCounts())}`);
}
console.log(leaked.length === 0 ? 'flat' : leaked.join('\n'));
