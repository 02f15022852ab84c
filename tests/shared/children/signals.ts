/** Makes and releases named memory while its parent sends signals. Prints `made` when all of it was made. */

import { Tensor } from 'dlpack';

process.on('SIGUSR2', () => {});
console.log('ready');
const shareable = `dlpack_signals_${process.pid}`;
for (let i = 0; i < 8; i++) {
  Tensor.empty([64 << 20], 'uint8', { shareable }).dispose();
  await new Promise((resolve) => setTimeout(resolve, 1));
}
console.log('made');
process.exit(0);
