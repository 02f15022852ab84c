/** Kernels compiled from CUDA source by this machine's nvcc, and run on its GPU. */

import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Tensor } from 'dlpack';
import { Stream, synchronize } from 'dlpack/cuda';
import { compile, compileLibrary, describeFunction, loadLibrary } from 'dlpack/tvm-ffi';
import { equal, ok, rejects } from '../assert.js';
import { test } from '../harness.js';
import { tvmFfiFolder } from './environment.js';
import { sleep } from './peers.js';

const folder = mkdtempSync(join(tmpdir(), 'dlpack-gpu-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

const cuda = `
__global__ void scale_kernel(const float* x, float* y, float factor, int64_t length) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < length) y[i] = x[i] * factor;
}
void scale(tvm::ffi::TensorView x, tvm::ffi::TensorView y, double factor) {
  TVM_FFI_CHECK(x.device().device_type == kDLCUDA, ValueError) << "expected a tensor on a CUDA device";
  TVM_FFI_CHECK(x.numel() == y.numel(), ValueError) << "lengths differ";
  const auto stream = static_cast<cudaStream_t>(TVMFFIEnvGetStream(x.device().device_type, x.device().device_id));
  const int64_t length = x.numel();
  scale_kernel<<<static_cast<unsigned>((length + 255) / 256), 256, 0, stream>>>(
      static_cast<const float*>(x.data_ptr()), static_cast<float*>(y.data_ptr()), static_cast<float>(factor), length);
}
`;
const options = { cuda, functions: { scale: 'Multiplies on the device.' }, cache: folder } as const;
const onDevice = { device: 'cuda:0' } as const;

test('CUDA source is compiled by nvcc and runs on the current stream of the device', async () => {
  loadLibrary({ path: join(tvmFfiFolder, 'lib/libtvm_ffi.so') });
  const kernels = await compile(options);
  equal(describeFunction(kernels, 'scale').doc, 'Multiplies on the device.');
  const x = Tensor.from(Float32Array.from({ length: 1000 }, (_, i) => i)).to('cuda:0');
  const y = Tensor.zeros([1000], 'float32', onDevice);
  synchronize();
  const stream = new Stream();
  sleep(stream.handle);
  stream.use(() => {
    x.fill(3); // behind the delay
    kernels.scale(x, y, 2.5); // behind the fill
  });
  equal(y.slice([997, 1000]).to('cpu').toArray(), [7.5, 7.5, 7.5]);
  let message = '';
  try {
    kernels.scale(Tensor.zeros([8], 'float32'), y, 1);
  } catch (error) {
    message = (error as Error).message;
  }
  ok(message.includes('expected a tensor on a CUDA device'), message);
});

test('the same source comes from the cache; other flags are another library', async () => {
  const first = await compileLibrary(options);
  const { ino, mtimeMs } = statSync(first);
  const again = await compileLibrary(options);
  equal([again, statSync(again).ino, statSync(again).mtimeMs], [first, ino, mtimeMs]);
  const other = await compileLibrary({ ...options, cudaFlags: ['--use_fast_math'] });
  ok(other !== first, other);
});

test('C++ and CUDA in one library', async () => {
  const cpp = `
void scale(tvm::ffi::TensorView x, tvm::ffi::TensorView y, double factor);
void double_all(tvm::ffi::TensorView x) { scale(x, x, 2); }
`;
  const kernels = await compile({ cpp, cuda, functions: ['double_all'], cache: folder });
  const x = Tensor.from([1, 2, 3], { dtype: 'float32' }).to('cuda:0');
  kernels.double_all(x);
  equal(x.to('cpu').toArray(), [2, 4, 6]);
});

test('errors of nvcc have the lines of the source', async () => {
  const wrong = cuda.replace('x[i] * factor', 'x[i] * missing');
  const line = wrong.split('\n').findIndex((text) => text.includes('missing')) + 1;
  const error = await rejects('CompileError', `cuda:${line}`, compile({ ...options, cuda: wrong }));
  const found = error.diagnostics.find(({ severity }) => severity === 'error');
  equal([found?.source, found?.line], ['cuda', line]);
  ok(found?.message.includes('missing'), found?.message);
  ok(error.message.includes(`${line} |   if (i < length) y[i] = x[i] * missing;`), error.message);
  ok(error.command.includes('nvcc'), error.command);
});
