/** Opens each tensor it gets, adds one to every element, and answers with its first one. */

import { parentPort } from 'node:worker_threads';
import { openTensor, type TensorToken } from 'dlpack/shared';

parentPort?.on('message', (token: TensorToken) => {
  using tensor = openTensor(token, { dtype: 'float32' });
  const data = tensor.data as Float32Array;
  for (let i = 0; i < data.length; i++) data[i] = (data[i] as number) + 1;
  parentPort?.postMessage(data[0]);
});
