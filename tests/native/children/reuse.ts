/** Kept blocks in a process of its own, or in a worker that a test starts. */

import { parentPort } from 'node:worker_threads';
import { Tensor } from 'dlpack';
import { liveCounts } from 'dlpack/debug';
import { exportManaged } from 'dlpack/native';

const MiB = 2 ** 20;

export interface ReuseTask {
  do: 'release' | 'hold' | 'export' | 'mix';
  value: number;
}

const held: Tensor[] = [];

function answer({ do: what, value }: ReuseTask): unknown {
  if (what === 'release')
    Tensor.empty([8 * MiB], 'uint8')
      .fill(value)
      .dispose();
  else if (what === 'hold') held.push(Tensor.empty([8 * MiB], 'uint8').fill(value));
  else if (what === 'export') {
    using tensor = Tensor.empty([8 * MiB], 'uint8').fill(value);
    return exportManaged(tensor);
  } else {
    for (let i = 0; i < 9; i++) {
      const size = (1 + (i % 3)) * MiB;
      using mine = Tensor.empty([size], 'uint8').fill(value);
      using copy = mine.copy();
      using zeros = Tensor.zeros([size], 'uint8');
      mine.fill(0); // shows in the copy if both had one block
      for (const at of [0, size / 2, size - 1]) {
        if (copy.get(at) !== value || zeros.get(at) !== 0) return `${copy.get(at)} and ${zeros.get(at)} at ${at}`;
      }
      zeros.fill(value);
    }
  }
  return 'done';
}

if (parentPort !== null) {
  const port = parentPort;
  port.on('message', (task: ReuseTask) => port.postMessage(answer(task)));
} else {
  answer({ do: 'release', value: 1 });
  // The timer of the kept block must not keep the process running, so the block is still there at the end.
  process.on('exit', () => console.log('kept', liveCounts().kept));
}
