// A C++ library compiled with Emscripten: its tensors own vectors, and it keeps and uses tensors of others. The
// compiled module is committed beside this file, because few machines have Emscripten. To compile it again:
//
//   em++ -O2 -std=c++17 -fno-exceptions -fno-rtti tests/wasm/real/emscripten.cc -o tests/wasm/real/emscripten.js \
//     -sMODULARIZE -sEXPORT_ES6 -sENVIRONMENT=web -sALLOW_MEMORY_GROWTH -sALLOW_TABLE_GROWTH -sFILESYSTEM=0 \
//     -sEXPORTED_FUNCTIONS=_malloc,_free
#include <emscripten.h>
#include <stdint.h>

#include <numeric>
#include <vector>

#include "../../../native/abi/dlpack_abi.h"

namespace {

struct Matrix {
  std::vector<float> elements;
  int64_t shape[2];
  int64_t strides[2];
  DLManagedTensorVersioned managed;
};

int32_t deleted = 0;
DLManagedTensorVersioned* kept = nullptr;

void DeleteMatrix(DLManagedTensorVersioned* self) {
  deleted++;
  delete static_cast<Matrix*>(self->manager_ctx);
}

}  // namespace

extern "C" {

// A matrix with the elements 0, 1, 2, ...
EMSCRIPTEN_KEEPALIVE DLManagedTensorVersioned* matrix_new(int32_t rows, int32_t columns) {
  auto* matrix = new Matrix();
  matrix->elements.resize(rows * columns);
  std::iota(matrix->elements.begin(), matrix->elements.end(), 0.0f);
  matrix->shape[0] = rows;
  matrix->shape[1] = columns;
  matrix->strides[0] = columns;
  matrix->strides[1] = 1;
  DLManagedTensorVersioned& managed = matrix->managed;
  managed.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  managed.manager_ctx = matrix;
  managed.deleter = DeleteMatrix;
  managed.flags = 0;
  managed.dl_tensor = {matrix->elements.data(), {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, matrix->shape, matrix->strides, 0};
  return &managed;
}

EMSCRIPTEN_KEEPALIVE int32_t deletions() { return deleted; }

// The sum of a float tensor with any strides of two axes.
EMSCRIPTEN_KEEPALIVE float sum(const DLTensor* tensor) {
  const auto* first = reinterpret_cast<const float*>(static_cast<char*>(tensor->data) + tensor->byte_offset);
  float total = 0;
  for (int64_t i = 0; i < tensor->shape[0]; i++) {
    for (int64_t j = 0; j < tensor->shape[1]; j++) total += first[i * tensor->strides[0] + j * tensor->strides[1]];
  }
  return total;
}

// Keeps a tensor of the caller, uses it later, and calls its deleter.
EMSCRIPTEN_KEEPALIVE void keep(DLManagedTensorVersioned* managed) { kept = managed; }
EMSCRIPTEN_KEEPALIVE float use_kept() { return sum(&kept->dl_tensor); }
EMSCRIPTEN_KEEPALIVE void drop_kept() { kept->deleter(kept); }
}
