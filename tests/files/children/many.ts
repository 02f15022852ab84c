/** Opens one file many times and keeps the tensors. Prints how many it has, the error of the next one, and the mappings. */

import { readFileSync } from 'node:fs';
import { isDLPackError, Tensor } from 'dlpack';
import { openNpySync } from 'dlpack/files';

const [path, count] = process.argv.slice(2) as [string, string];
const mappings = (): number => readFileSync('/proc/self/maps', 'utf8').split('\n').length;
const before = mappings();
const kept: Tensor[] = [];
let problem = '';
try {
  while (kept.length < Number(count)) kept.push(openNpySync(path));
} catch (error) {
  problem = isDLPackError(error, 'FileError') ? `${error.code} ${error.message}` : String(error);
}
const opened = kept.length;
const added = mappings() - before;
// The runtime still has mappings for itself.
const sum = Tensor.zeros([50 << 20], 'uint8').get(0);
for (const tensor of kept.splice(0)) tensor.dispose();
openNpySync(path).dispose();
console.log(`RESULT ${JSON.stringify({ opened, problem, added, sum })}`);
