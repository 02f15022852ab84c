/** The CUDA kernel of examples/kernels, compiled here, with tensors of dlpack/cuda on their streams. */

import { spawnSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Tensor, type TensorView } from 'dlpack';
import { Stream, synchronize } from 'dlpack/cuda';
import { loadLibrary, loadModule } from 'dlpack/tvm-ffi';
import { equal, ok } from '../assert.js';
import { test } from '../harness.js';
import { root, tvmFfiFolder } from './environment.js';
import { main, sleep } from './peers.js';

interface CudaKernels {
  add_one_cuda(x: TensorView, y: TensorView): void;
  alloc_like(x: TensorView): Tensor<'float32'>;
}

function compile(): string {
  const out = join(mkdtempSync(join(tmpdir(), 'dlpack-gpu-')), 'kernels_cuda.so');
  const { status, stderr } = spawnSync(
    'nvcc',
    [
      '-std=c++17',
      '-shared',
      '-Xcompiler',
      '-fPIC',
      `-I${tvmFfiFolder}/include`,
      join(root, 'examples/kernels/add_one_cuda.cu'),
      '-o',
      out,
    ],
    { encoding: 'utf8' },
  );
  equal(status, 0, stderr);
  return out;
}

const onDevice = { device: 'cuda:0' } as const;
let kernels: CudaKernels;

test('the kernel compiles and loads', () => {
  loadLibrary({ path: join(tvmFfiFolder, 'lib/libtvm_ffi.so') });
  kernels = loadModule<CudaKernels>(compile());
});

test('a call runs on the current stream of the device, after earlier work on its tensors', () => {
  const own = new Stream();
  const other = new Stream();
  const x = Tensor.zeros([1000], 'float32', onDevice);
  const y = Tensor.zeros([1000], 'float32', onDevice);
  synchronize();
  sleep(own.handle);
  own.use(() => x.fill(5));
  other.use(() => kernels.add_one_cuda(x, y));
  equal(y.to('cpu').slice([0, 3]).toArray(), [6, 6, 6]);
  other.use(() => {
    for (let i = 0; i < 100; i++) kernels.add_one_cuda(i === 0 ? x : y, y);
  });
  equal(y.slice([998, 1000]).to('cpu').toArray(), [105, 105]);
});

test('memory waits for the kernels that use it', () => {
  const own = new Stream();
  const y = Tensor.zeros([1 << 20], 'float32', onDevice);
  (() => {
    const x = Tensor.zeros([1 << 20], 'float32', onDevice);
    x.fill(1);
    synchronize();
    sleep(own.handle);
    own.use(() => kernels.add_one_cuda(x, y));
    x.dispose();
  })();
  for (let i = 0; i < 20; i++) {
    const z = Tensor.zeros([1 << 20], 'float32', onDevice);
    z.fill(100);
    z.dispose();
  }
  equal(y.slice([5, 8]).to('cpu').toArray(), [2, 2, 2]);
});

test('a kernel allocates its result on the device, and it comes back as a Tensor', () => {
  const x = Tensor.zeros([8], 'float32', onDevice);
  const y = kernels.alloc_like(x);
  equal([y.device, y.shape], ['cuda:0', [8]]);
  kernels.add_one_cuda(x, y);
  equal(y.to('cpu').toArray(), [1, 1, 1, 1, 1, 1, 1, 1]);
});

test('kernel errors come back, and the stream is restored', () => {
  const own = new Stream();
  const host = Tensor.zeros([8], 'float32');
  let message = '';
  own.use(() => {
    try {
      kernels.add_one_cuda(host, Tensor.zeros([8], 'float32', onDevice));
    } catch (error) {
      message = (error as Error).message;
    }
  });
  ok(message.includes('CUDA device'), message);
  equal(Stream.current().handle, 1n);
});

test('the same memory for a kernel and for PyTorch', () => {
  const t = main.torch_array();
  const x = Tensor.zeros([2, 3], 'float32', onDevice);
  kernels.add_one_cuda(x, x);
  const sum = main.torch.from_dlpack(x).add(t);
  equal([...main.values(sum)], [1, 2, 3, 4, 5, 6]);
});
