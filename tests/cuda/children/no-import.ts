/** A program that uses devices and imports only `dlpack`. */

import { Tensor } from 'dlpack';

const x = Tensor.from([1, 2, 3]).to('cuda:0');
const y = Tensor.zeros([2], 'int8', { device: 'cuda:0' });
console.log(`RESULT ${JSON.stringify([x.device, x.to('cpu').toArray(), y.to('cpu').toArray()])}`);
