/**
 * Imports of 64 MiB that the program drops without `dispose`, with a turn of the event loop after each. Arguments: how many
 * imports, and whether the producer touches their memory. Prints the most bytes that were imported at once, and the most
 * that the process used.
 */

import { liveCounts } from 'dlpack/debug';
import { importManaged } from 'dlpack/native';
import { peer } from '../peer.js';

const [count, isTouched] = [Number(process.argv[2]), process.argv[3] === 'touched'];
const size = 64 * 2 ** 20;
let imported = 0;
let resident = 0;
for (let i = 0; i < count; i++) {
  importManaged(peer.makeBlock(size, isTouched));
  imported = Math.max(imported, liveCounts().imports * size);
  if (isTouched) resident = Math.max(resident, process.memoryUsage().rss);
  await new Promise((resolve) => setTimeout(resolve, 2)); // as if the producer had taken some time
}
console.log(JSON.stringify({ imported, resident }));
