/**
 * A million exchanges with NumPy or PyTorch, half of them in each direction; memory, Python's blocks and reference counts
 * must not grow.
 */

import { fromDLPack, Tensor } from 'dlpack';
import { stats } from 'dlpack/native';
import { python } from 'dlpack/python';
import { collect } from '../../../harness.js';

const py = python();
const library = py.import(process.argv[2] as string);
const sys = py.import('sys');
const take = library.from_dlpack;
const x = Tensor.zeros([16], 'float32');
const source = library.zeros(16);
const count = () => Number(sys.getrefcount(source));

async function round(n: number): Promise<{ bytes: number; blocks: number }> {
  for (let i = 0; i < n; i++) {
    take(x)[Symbol.dispose]();
    fromDLPack(source).dispose();
  }
  await collect();
  const { rss, heapTotal } = process.memoryUsage();
  return { bytes: rss - heapTotal, blocks: Number(sys.getallocatedblocks()) };
}
// Rounds of equal size, because the allocator keeps the memory of the peak of a round.
const each = 125_000;
await round(each);
await round(each);
const before = { ...(await round(each)), references: count(), live: JSON.stringify(stats()) };
const after = await round(each);
const problems: string[] = [];
// One leaked object for each would be 125 000 blocks, and 12 MB or more.
const growth = after.bytes - before.bytes;
if (growth > 10e6) problems.push(`${(growth / 1e6).toFixed(1)} MB`);
if (after.blocks - before.blocks > 1000) problems.push(`${after.blocks - before.blocks} blocks`);
if (count() !== before.references) problems.push(`${count() - before.references} references`);
if (JSON.stringify(stats()) !== before.live) problems.push(JSON.stringify(stats()));
console.log(problems.length === 0 ? 'flat' : problems.join('; '));
