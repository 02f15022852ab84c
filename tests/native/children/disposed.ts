/** Imports of 256 MiB that the program disposes in a later turn of the event loop. Prints how many full collections ran. */

import { constants, PerformanceObserver } from 'node:perf_hooks';
import { importManaged } from 'dlpack/native';
import { peer } from '../peer.js';

const turn = () => new Promise((resolve) => setImmediate(resolve));
let collections = 0;
const observer = new PerformanceObserver((list) => {
  for (const entry of list.getEntries() as unknown as { detail: { kind: number } }[]) {
    if (entry.detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) collections++;
  }
});
observer.observe({ entryTypes: ['gc'] });
for (let i = 0; i < 100; i++) {
  const x = importManaged(peer.makeBlock(2 ** 28, false));
  await turn();
  x.dispose();
}
await turn();
console.log(collections);
