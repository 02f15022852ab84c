/** The kernel of examples/kernels/add_one_cuda.cu on a GPU, on a stream of its own; its first lines say how it is compiled. */

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Tensor, type TensorView } from 'dlpack';
import { currentStream, loadModule, type OpaquePointer, withStream } from 'dlpack/tvm-ffi';

interface CudaKernels {
  add_one_cuda(x: TensorView, y: TensorView): void;
  to_cuda(x: TensorView): Tensor<'float32'>;
  to_host(x: TensorView, y: TensorView): void;
  live_allocations(): number;
  make_stream(): OpaquePointer;
  wait_for(stream: OpaquePointer): void;
}

const file = fileURLToPath(new URL('../kernels/kernels_cuda.so', import.meta.url));
if (!existsSync(file)) {
  console.log('left out: build/kernels/kernels_cuda.so is missing');
} else {
  const kernels = loadModule<CudaKernels>(file);
  const host = Tensor.from([1, 2, 3], { dtype: 'float32' });
  const x = kernels.to_cuda(host);
  const y = kernels.to_cuda(host);
  console.log(x.device, x.shape, kernels.live_allocations()); // cuda:0 [ 3 ] 2

  const stream = kernels.make_stream();
  withStream('cuda:0', stream.address, () => {
    for (let i = 0; i < 1000; i++) kernels.add_one_cuda(i === 0 ? x : y, y);
    console.log(currentStream('cuda:0') === stream.address); // true
  });
  kernels.wait_for(stream);
  kernels.to_host(y, host);
  console.log(host.toArray()); // [ 1001, 1002, 1003 ]

  const start = process.hrtime.bigint();
  const calls = 100_000;
  for (let i = 0; i < calls; i++) kernels.add_one_cuda(x, y);
  const nanoseconds = Number(process.hrtime.bigint() - start) / calls;
  console.log(`${nanoseconds.toFixed(0)} ns for a call with its launch`);

  x.dispose();
  y.dispose();
  console.log(kernels.live_allocations()); // 0
}
