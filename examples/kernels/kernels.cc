// Kernels in C++, as a kernel library writes them: typed functions over TensorView and Tensor.
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>

namespace ffi = tvm::ffi;

static void CheckFloats(const ffi::TensorView& tensor, int ndim) {
  const DLDataType dtype = tensor.dtype();
  if (dtype.code != kDLFloat || dtype.bits != 32 || dtype.lanes != 1) TVM_FFI_THROW(TypeError) << "expected float32";
  if (tensor.device().device_type != kDLCPU) TVM_FFI_THROW(ValueError) << "expected a tensor on the CPU";
  if (tensor.ndim() != ndim) TVM_FFI_THROW(ValueError) << "expected " << ndim << " axes, got " << tensor.ndim();
}

// y = x + 1
static void AddOne(ffi::TensorView x, ffi::TensorView y) {
  CheckFloats(x, 1);
  CheckFloats(y, 1);
  if (x.size(0) != y.size(0))
    TVM_FFI_THROW(ValueError) << "expected one length, got " << x.size(0) << " and " << y.size(0);
  const float* from = static_cast<const float*>(x.data_ptr());
  float* to = static_cast<float*>(y.data_ptr());
  for (int64_t i = 0; i < x.size(0); ++i) to[i * y.stride(0)] = from[i * x.stride(0)] + 1;
}

// Sums of the rows of a matrix with any strides: transposed, sliced, broadcast or flipped.
static void SumRows(ffi::TensorView matrix, ffi::TensorView sums) {
  CheckFloats(matrix, 2);
  CheckFloats(sums, 1);
  if (matrix.size(0) != sums.size(0)) TVM_FFI_THROW(ValueError) << "expected one sum for each row";
  const float* from = static_cast<const float*>(matrix.data_ptr());
  float* to = static_cast<float*>(sums.data_ptr());
  for (int64_t i = 0; i < matrix.size(0); ++i) {
    float sum = 0;
    for (int64_t j = 0; j < matrix.size(1); ++j) sum += from[i * matrix.stride(0) + j * matrix.stride(1)];
    to[i * sums.stride(0)] = sum;
  }
}

// 0, 1, 2, ... in memory of the caller's allocator.
static ffi::Tensor Iota(int64_t length) {
  if (length < 0) TVM_FFI_THROW(ValueError) << "expected a length of zero or more, got " << length;
  ffi::Tensor tensor = ffi::Tensor::FromEnvAlloc(TVMFFIEnvTensorAlloc, ffi::Shape({length}),
                                                 DLDataType{kDLFloat, 32, 1}, DLDevice{kDLCPU, 0});
  for (int64_t i = 0; i < length; ++i) static_cast<float*>(tensor.data_ptr())[i] = static_cast<float>(i);
  return tensor;
}

static void Fail(ffi::String message) { TVM_FFI_THROW(ValueError) << message; }

TVM_FFI_DLL_EXPORT_TYPED_FUNC(add_one, AddOne);
TVM_FFI_DLL_EXPORT_TYPED_FUNC_DOC(add_one, "Writes x + 1 into y.");
TVM_FFI_DLL_EXPORT_TYPED_FUNC(sum_rows, SumRows);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(iota, Iota);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(fail, Fail);
