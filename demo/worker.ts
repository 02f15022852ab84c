/** Adds one to the first element of the tensor it is sent, and sends it back. */

import { parentPort } from 'node:worker_threads';
import { receiveTensor, shareTensor, type TensorToken } from 'dlpack/native';

parentPort?.on('message', (token: TensorToken) => {
  const x = receiveTensor<'float32'>(token);
  x.set(0, x.get(0) + 1);
  parentPort?.postMessage(shareTensor(x));
  x.dispose();
});
