/** Adds one to the first element of the tensor it is sent, and sends it back. */

import { parentPort } from 'node:worker_threads';
import { openTensor, shareTensor, type TensorToken } from 'dlpack/shared';

parentPort?.on('message', (token: TensorToken) => {
  const x = openTensor<'float32'>(token);
  x.set(0, x.get(0) + 1);
  parentPort?.postMessage(shareTensor(x));
  x.dispose();
});
