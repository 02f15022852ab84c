/** Copies more memory from a device in one tick than the limit allows at once. Prints how much the peak grew. */

import { Tensor } from 'dlpack';
import { loadDriver } from 'dlpack/cuda';
import { printGrowth } from '../../peak.js';
import { fakeDriverPath } from '../fake.js';

loadDriver({ path: fakeDriverPath });
const MiB = 2 ** 20;
const source = Tensor.zeros([MiB], 'uint8', { device: 'cuda:0' });
const loops: Record<string, () => void> = {
  copies: () => {
    using x = source.to('cpu');
    x.data.fill(1);
  },
  pinned: () => {
    using x = Tensor.empty([MiB], 'uint8', { device: 'cuda_host' });
    x.data.fill(1);
  },
};
printGrowth(3000, loops[process.argv[2] as string] as () => void);
