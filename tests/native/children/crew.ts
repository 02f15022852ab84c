/** Large conversions on several threads of this package, from several threads of JavaScript at once. */

import { readFileSync } from 'node:fs';
import { Tensor } from 'dlpack';

const SIZE = 1 << 21;

/** Kernel threads of this process. */
const threads = (): number =>
  process.platform === 'linux' ? Number(/^Threads:\s*(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) : 0;

function check(result: Tensor, value: number): void {
  using wrong = result.astype('float32');
  if (!(wrong.data as Float32Array).every((item) => item === value)) throw new Error(`expected ${value} everywhere`);
}

/** Each conversion has its own values, so that a piece converted for another one, or not at all, is detected. */
async function round(): Promise<void> {
  const running = Array.from({ length: 12 }, async (_, i) => {
    using source = Tensor.zeros([SIZE], 'float32').fill(i + 1);
    using result = await source.astypeAsync('float16');
    check(result, i + 1);
  });
  for (let i = 20; i < 32; i++) {
    using source = Tensor.zeros([SIZE], 'float32').fill(i);
    using result = source.astype('bfloat16');
    check(result, i);
  }
  await Promise.all(running);
}

await round();
const before = threads();
for (let i = 0; i < 3; i++) await round();
console.log(JSON.stringify({ before, after: threads() }));
