/** Shares memory, under a name if one is given, and waits to be told how to end, or to be killed. */

import { Tensor } from 'dlpack';
import { describeTensor } from 'dlpack/shared';

const x = Tensor.empty([1024], 'float32', { shareable: process.argv[2] || true });
x.fill(7);
console.log(JSON.stringify(describeTensor(x)));
const timer = setInterval(() => x.get(0), 1000);
process.stdin.on('data', (chunk) => {
  const how = String(chunk).trim();
  if (how === 'return') {
    clearInterval(timer);
    return;
  }
  if (how !== 'exit') process.removeAllListeners('exit');
  if (how === 'reallyExit') (process as unknown as { reallyExit(code: number): void }).reallyExit(0);
  process.exit(0);
});
