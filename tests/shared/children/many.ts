/** Makes shared memory until the system refuses. Prints the error, and whether releasing some helps. */

import { Tensor } from 'dlpack';

const made: Tensor[] = [];
const make = (): Tensor => Tensor.zeros([1], 'uint8', { shareable: true });
try {
  for (;;) made.push(make());
} catch (error) {
  console.log(String(error));
}
for (const tensor of made.splice(0, 2)) tensor.dispose();
made.push(make());
console.log('made again');
process.exit(0);
