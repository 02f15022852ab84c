/** Shares memory, under a name if one is given, and waits for the end of its input or to be killed. */

import { Tensor } from 'dlpack';
import { shareTensor } from 'dlpack/shared';

const x = Tensor.empty([1024], 'float32', { shareable: process.argv[2] || true });
x.fill(7);
console.log(JSON.stringify(shareTensor(x, { with: 'process' })));
process.stdin.on('data', () => process.exit(0));
setInterval(() => x.get(0), 1000);
