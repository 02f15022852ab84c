/** JavaScript to NumPy and back, many times; memory and reference counts must not grow. */

import { fromDLPack, Tensor } from 'dlpack';
import { stats } from 'dlpack/native';
import { python } from 'dlpack/python';
import { collect } from '../../../harness.js';

const py = python();
const np = py.import('numpy');
const sys = py.import('sys');
const take = np.from_dlpack;
const x = Tensor.zeros([16], 'float32');
const source = np.zeros(16);
const count = () => Number(sys.getrefcount(source));

async function round(n: number): Promise<number> {
  for (let i = 0; i < n; i++) {
    const a = take(x);
    fromDLPack(a).dispose();
    a[Symbol.dispose]();
    fromDLPack(source).dispose();
  }
  await collect();
  const { rss, heapTotal } = process.memoryUsage();
  return rss - heapTotal;
}
// Rounds of one size: what a round holds at its peak stays with the allocator.
await round(150_000);
await round(150_000);
const before = { bytes: await round(150_000), references: count(), live: JSON.stringify(stats()) };
const bytes = await round(150_000);
const problems: string[] = [];
// One leaked object for each would be 15 MB or more.
if (bytes - before.bytes > 12e6) problems.push(`${((bytes - before.bytes) / 1e6).toFixed(1)} MB`);
if (count() !== before.references) problems.push(`${count() - before.references} references`);
if (JSON.stringify(stats()) !== before.live) problems.push(JSON.stringify(stats()));
console.log(problems.length === 0 ? 'flat' : problems.join('; '));
