// The same kernel for a GPU, on the stream that the caller set:
//   nvcc -shared -Xcompiler -fPIC -I$(tvm-ffi-config --includedir) -I$(tvm-ffi-config --dlpack-includedir) \
//     examples/kernels/add_one_cuda.cu -o build/kernels/kernels_cuda.so -L$(tvm-ffi-config --libdir) -ltvm_ffi
#include <cuda_runtime.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>

namespace ffi = tvm::ffi;

__global__ static void AddOneKernel(const float* x, float* y, int64_t length) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < length) y[i] = x[i] + 1;
}

static void AddOneCuda(ffi::TensorView x, ffi::TensorView y) {
  const DLDevice device = x.device();
  if (device.device_type != kDLCUDA) TVM_FFI_THROW(ValueError) << "expected a tensor on a CUDA device";
  if (x.dtype() != DLDataType{kDLFloat, 32, 1}) TVM_FFI_THROW(TypeError) << "expected float32";
  if (!x.IsContiguous() || !y.IsContiguous()) TVM_FFI_THROW(ValueError) << "expected contiguous tensors";
  const cudaStream_t stream = static_cast<cudaStream_t>(TVMFFIEnvGetStream(device.device_type, device.device_id));
  const int64_t length = x.numel();
  AddOneKernel<<<static_cast<unsigned>((length + 255) / 256), 256, 0, stream>>>(
      static_cast<const float*>(x.data_ptr()), static_cast<float*>(y.data_ptr()), length);
}

TVM_FFI_DLL_EXPORT_TYPED_FUNC(add_one_cuda, AddOneCuda);
