/** The worker of no-external-buffers.ts. Its own tensors are in native memory, because its heap ends with it. */

import { parentPort } from 'node:worker_threads';
import { Tensor } from 'dlpack';
import { exportManaged } from 'dlpack/native';
import { openTensor, type TensorToken } from 'dlpack/shared';

parentPort?.once('message', (token: TensorToken) => {
  const opened = openTensor(token, { dtype: 'float32' });
  opened.set(0, 6);
  const own = Tensor.from([8, 9], { dtype: 'float32' });
  parentPort?.postMessage({ copied: [opened.isDataCopied, own.isDataCopied], address: exportManaged(own) });
});
