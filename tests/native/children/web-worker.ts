/** A web worker (Bun, Deno): a thread that has no parentPort and, on Deno, calls itself the main thread. */

import { isDLPackError, Tensor } from 'dlpack';
import { addressOf, exportManaged } from 'dlpack/native';
import { openTensor, shareTensor, type TensorToken } from 'dlpack/shared';

const scope = globalThis as unknown as {
  onmessage: (event: { data: TensorToken }) => void;
  postMessage(message: unknown): void;
};

const kept: unknown[] = [];

function tagOf(action: () => unknown): string {
  try {
    action();
    return 'nothing';
  } catch (error) {
    return isDLPackError(error) ? error.tag : String(error);
  }
}

scope.onmessage = ({ data }) => {
  const taken = openTensor(data, { dtype: 'float32' });
  taken.set(0, 50);
  const adopted = Tensor.adopt(new Float32Array([6, 7]));
  const shared = Tensor.wrap(new Float32Array(new SharedArrayBuffer(8)));
  kept.push(taken, taken.data, adopted, adopted.data);
  scope.postMessage({
    address: addressOf(taken),
    token: shareTensor(adopted),
    exported: exportManaged(adopted),
    // The heap of this thread ends with it, so none of its memory may be lent, not even memory that cannot be moved.
    refused: tagOf(() => exportManaged(shared, { copy: false })),
  });
};
