/** Shares memory and waits to be killed. */

import { Tensor } from 'dlpack';
import { shareTensor } from 'dlpack/shared';

const x = Tensor.empty([1024], 'float32', { shareable: true });
x.fill(7);
console.log(JSON.stringify(shareTensor(x, { with: 'process' })));
setInterval(() => x.get(0), 1000);
