/** Another process with the device: it runs the commands of the process that started it, and answers each. */

import { Tensor } from 'dlpack';
import { Stream, synchronize } from 'dlpack/cuda';
import { liveCounts } from 'dlpack/debug';
import { addressOf } from 'dlpack/native';
import { describeTensor, openTensor, type TensorDescription } from 'dlpack/shared';

const tensors = new Map<number, Tensor>();

function tensorAt(id: number): Tensor {
  const tensor = tensors.get(id);
  if (tensor === undefined) throw new Error(`no tensor ${id}`);
  return tensor;
}

function keep(tensor: Tensor): number {
  const id = tensors.size + 1;
  tensors.set(id, tensor);
  return id;
}

export const actions = {
  open: (shared: TensorDescription): number => keep(openTensor(shared)),
  /** On a stream that is not current. */
  openBeside: (shared: TensorDescription): number => keep(openTensor(shared, { stream: new Stream() })),
  make(values: number[]): { id: number; shared: TensorDescription } {
    const tensor = Tensor.empty([values.length], 'float32', { device: 'cuda:0', shareable: true });
    tensor.copyFrom(Tensor.from(values, { dtype: 'float32' }));
    return { id: keep(tensor), shared: describeTensor(tensor) };
  },
  read: (id: number): unknown => tensorAt(id).to('cpu').toArray(),
  describe(id: number): unknown {
    const { device, dtype, shape, strides } = tensorAt(id);
    return { device, dtype, shape, strides };
  },
  address: (id: number): string => String(addressOf(tensorAt(id))),
  write(id: number, value: number): void {
    tensorAt(id).fill(value);
    synchronize();
  },
  close: (id: number): void => tensorAt(id).dispose(),
  imports: (): number => liveCounts().imports,
};

process.on('message', ({ name, args }: { name: keyof typeof actions; args: unknown[] }) => {
  const answer = (result: object): void => void process.send?.(result);
  try {
    answer({ value: (actions[name] as (...args: unknown[]) => unknown)(...args) });
  } catch (error) {
    answer({ error: String(error) });
  }
});
process.on('disconnect', () => process.exit(0));
// The first use of a device takes a while, so it happens before the first command.
Tensor.zeros([1], 'int8', { device: 'cuda:0' }).dispose();
synchronize();
process.send?.({ value: 'ready' });
