/** Tries to open memory of the parent process, and ends with its own memory shared and open, and with a pending release. */

import { Tensor } from 'dlpack';
import { CudaError, loadDriver, Stream } from 'dlpack/cuda';
import { liveCounts } from 'dlpack/debug';
import { describeTensor, openTensor } from 'dlpack/shared';
import { fake, fakeDriverPath } from '../fake.js';

fake.setDevices(2);
loadDriver({ path: fakeDriverPath });
try {
  openTensor(JSON.parse(process.argv.at(-1) as string));
} catch (error) {
  console.log('refused with', error instanceof CudaError ? error.cudaName : error);
}
const x = Tensor.empty([4], 'float32', { device: 'cuda:0', shareable: true });
const shared = { ...describeTensor(x), process: '00000000000000ff' };
const stream = new Stream();
const kept = [openTensor(shared), openTensor(shared)];
// Released while a stream uses it, so the watcher holds it.
fake.delay(stream.handle);
stream.use(() => kept.at(-1)?.fill(1));
kept.pop()?.dispose();
setTimeout(() => {
  console.log('leaving with', liveCounts().imports, 'imports', kept.length);
  process.exit(0);
}, 20);
