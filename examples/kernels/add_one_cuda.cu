// Kernels for a GPU, on the stream that the caller set:
//   nvcc -std=c++17 -shared -Xcompiler -fPIC -I$(tvm-ffi-config --includedir) -I$(tvm-ffi-config --dlpack-includedir) \
//     examples/kernels/add_one_cuda.cu -o build/kernels/kernels_cuda.so
#include <cuda_runtime.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>

namespace ffi = tvm::ffi;

static void Check(cudaError_t error) {
  if (error != cudaSuccess) TVM_FFI_THROW(RuntimeError) << cudaGetErrorString(error);
}

static void CheckPair(const ffi::TensorView& x, const ffi::TensorView& y) {
  const DLDataType dtype = x.dtype();
  if (dtype.code != kDLFloat || dtype.bits != 32 || dtype.lanes != 1) TVM_FFI_THROW(TypeError) << "expected float32";
  if (!x.IsContiguous() || !y.IsContiguous()) TVM_FFI_THROW(ValueError) << "expected contiguous tensors";
  if (x.numel() != y.numel()) TVM_FFI_THROW(ValueError) << "expected tensors of one size";
}

__global__ static void AddOneKernel(const float* x, float* y, int64_t length) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < length) y[i] = x[i] + 1;
}

static void AddOneCuda(ffi::TensorView x, ffi::TensorView y) {
  CheckPair(x, y);
  const DLDevice device = x.device();
  if (device.device_type != kDLCUDA) TVM_FFI_THROW(ValueError) << "expected a tensor on a CUDA device";
  const cudaStream_t stream = static_cast<cudaStream_t>(TVMFFIEnvGetStream(device.device_type, device.device_id));
  const int64_t length = x.numel();
  AddOneKernel<<<static_cast<unsigned>((length + 255) / 256), 256, 0, stream>>>(
      static_cast<const float*>(x.data_ptr()), static_cast<float*>(y.data_ptr()), length);
  Check(cudaGetLastError());
}

static int64_t live = 0;
struct CudaAlloc {
  void AllocData(DLTensor* tensor) {
    Check(cudaMalloc(&tensor->data, ffi::GetDataSize(*tensor)));
    ++live;
  }
  void FreeData(DLTensor* tensor) {
    cudaFree(tensor->data);
    --live;
  }
};

static ffi::Tensor ToCuda(ffi::TensorView x) {
  ffi::Tensor y = ffi::Tensor::FromNDAlloc(CudaAlloc(), x.shape(), x.dtype(), DLDevice{kDLCUDA, 0});
  Check(cudaMemcpy(y.data_ptr(), x.data_ptr(), ffi::GetDataSize(static_cast<size_t>(x.numel()), x.dtype()), cudaMemcpyHostToDevice));
  return y;
}

// In memory of the caller's allocator.
static ffi::Tensor AllocLike(ffi::TensorView x) { return ffi::Tensor::FromEnvAlloc(TVMFFIEnvTensorAlloc, x.shape(), x.dtype(), x.device()); }

static void ToHost(ffi::TensorView x, ffi::TensorView y) {
  CheckPair(x, y);
  Check(cudaMemcpy(y.data_ptr(), x.data_ptr(), static_cast<size_t>(x.numel()) * sizeof(float), cudaMemcpyDeviceToHost));
}

static void* MakeStream() {
  cudaStream_t stream;
  Check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}
static int64_t LiveAllocations() { return live; }
static void WaitFor(void* stream) { Check(cudaStreamSynchronize(static_cast<cudaStream_t>(stream))); }

TVM_FFI_DLL_EXPORT_TYPED_FUNC(add_one_cuda, AddOneCuda);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(alloc_like, AllocLike);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(to_cuda, ToCuda);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(to_host, ToHost);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(live_allocations, LiveAllocations);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_stream, MakeStream);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(wait_for, WaitFor);
