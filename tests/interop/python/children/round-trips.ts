/**
 * A million exchanges with NumPy or PyTorch, half of them in each direction; memory, Python's blocks and reference counts
 * must not grow.
 */

import { fromDLPack, Tensor } from 'dlpack';
import { liveCounts } from 'dlpack/debug';
import { python } from 'dlpack/python';
import { collect, collectUntil } from '../../../harness.js';

const py = python();
const library = py.import(process.argv[2] as string);
const sys = py.import('sys');
const take = library.from_dlpack;
const x = Tensor.zeros([16], 'float32');
const source = library.zeros(16);
const count = () => Number(sys.getrefcount(source));

function measure(): { bytes: number; blocks: number; references: number; live: string } {
  const { rss, heapTotal } = process.memoryUsage();
  const blocks = Number(sys.getallocatedblocks());
  // Without the objects: the functions that are called here wait for the collector.
  const live = JSON.stringify({ ...liveCounts(), objects: 0, objectBytes: 0 });
  return { bytes: rss - heapTotal, blocks, references: count(), live };
}

async function round(n: number): Promise<void> {
  for (let i = 0; i < n; i++) {
    take(x)[Symbol.dispose]();
    fromDLPack(source).dispose();
  }
  await collect();
}
// Rounds of equal size, because the allocator keeps the memory of the peak of a round.
const each = 125_000;
for (let i = 0; i < 3; i++) await round(each);
const before = measure();
await round(each);
function problems(): string[] {
  const after = measure();
  const found: string[] = [];
  // One leaked object for each would be 125 000 blocks, and 12 MB or more.
  const growth = after.bytes - before.bytes;
  if (growth > 10e6) found.push(`${(growth / 1e6).toFixed(1)} MB`);
  if (after.blocks - before.blocks > 1000) found.push(`${after.blocks - before.blocks} blocks`);
  if (after.references !== before.references) found.push(`${after.references - before.references} references`);
  if (after.live !== before.live) found.push(after.live);
  return found;
}
// Threads of the runtime may release memory later.
await collectUntil(() => problems().length === 0);
console.log(problems().join('; ') || 'flat');
