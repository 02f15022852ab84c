/** A million exchanges of each kind; native memory and live counts must not grow. */

import { fromDLPack, Tensor } from 'dlpack';
import { exportManaged, importManaged, releaseManaged, stats } from 'dlpack/native';
import { collect } from '../../harness.js';

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
  const run = async (count: number) => {
    for (let i = 0; i < count; i++) exchange();
    await collect();
    const { rss, heapTotal } = process.memoryUsage();
    return rss - heapTotal; // without the space that the collector sets aside
  };
  await run(100_000);
  const before = await run(100_000);
  const live = stats();
  const after = await run(1_000_000);
  const now = stats();
  if (JSON.stringify(now) !== JSON.stringify(live)) leaked.push(`${name}: ${JSON.stringify(now)}`);
  // One leaked allocation of 16 bytes for each exchange would be 16 MB.
  if (after - before > 12e6) leaked.push(`${name}: ${((after - before) / 1e6).toFixed(1)} MB`);
}
console.log(leaked.length === 0 ? 'flat' : leaked.join('\n'));
