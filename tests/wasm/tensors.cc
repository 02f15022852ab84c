// A WebAssembly module with tensors, like a C++ library that is compiled without a system: an allocator, functions that
// return tensors, and functions that take tensors.
#include <stddef.h>
#include <stdint.h>

#include "../../native/abi/dlpack_abi.h"

#define EXPORT extern "C" __attribute__((visibility("default"), used))

namespace {

constexpr size_t kPage = 65536;

// Free blocks of the same size are reused; nothing is merged.
struct Block {
  size_t size;
  Block* next;
};
Block* free_blocks = nullptr;
size_t heap_end = 0;
int32_t live_blocks = 0;
int32_t deleted = 0;
DLManagedTensorVersioned* kept = nullptr;

void DeleteTensor(DLManagedTensorVersioned* self);

}  // namespace

EXPORT void* malloc(size_t size) {
  size = (size + 15) & ~size_t{15};
  live_blocks++;
  for (Block** at = &free_blocks; *at != nullptr; at = &(*at)->next) {
    if ((*at)->size != size) continue;
    Block* block = *at;
    *at = block->next;
    return reinterpret_cast<char*>(block) + 16;
  }
  if (heap_end == 0) heap_end = __builtin_wasm_memory_size(0) * kPage;
  size_t start = heap_end;
  size_t end = start + 16 + size;
  size_t have = __builtin_wasm_memory_size(0) * kPage;
  if (end > have && __builtin_wasm_memory_grow(0, (end - have + kPage - 1) / kPage) == static_cast<size_t>(-1)) {
    live_blocks--;
    return nullptr;
  }
  heap_end = end;
  Block* block = reinterpret_cast<Block*>(start);
  block->size = size;
  return reinterpret_cast<char*>(block) + 16;
}

EXPORT void free(void* address) {
  if (address == nullptr) return;
  live_blocks--;
  Block* block = reinterpret_cast<Block*>(static_cast<char*>(address) - 16);
  block->next = free_blocks;
  free_blocks = block;
}

// Counters for tests.
EXPORT int32_t live() { return live_blocks; }
EXPORT int32_t deletions() { return deleted; }

namespace {

void FillTensor(DLTensor* tensor, int64_t* shape, float* data, int64_t rows, int64_t columns) {
  shape[0] = rows;
  shape[1] = columns;
  tensor->data = data;
  tensor->device = {kDLCPU, 0};
  tensor->ndim = 2;
  tensor->dtype = {kDLFloat, 32, 1};
  tensor->shape = shape;
  tensor->strides = nullptr;
  tensor->byte_offset = 0;
  for (int64_t i = 0; i < rows * columns; i++) data[i] = static_cast<float>(i);
}

void DeleteTensor(DLManagedTensorVersioned* self) {
  deleted++;
  free(self->dl_tensor.data);
  free(self->dl_tensor.shape);
  free(self);
}

}  // namespace

// A tensor that the caller frees with tensor_free.
EXPORT DLTensor* tensor_new(int32_t rows, int32_t columns) {
  auto* tensor = static_cast<DLTensor*>(malloc(sizeof(DLTensor)));
  auto* shape = static_cast<int64_t*>(malloc(2 * sizeof(int64_t)));
  auto* data = static_cast<float*>(malloc(sizeof(float) * static_cast<size_t>(rows * columns)));
  FillTensor(tensor, shape, data, rows, columns);
  return tensor;
}

EXPORT void tensor_free(DLTensor* tensor) {
  free(tensor->data);
  free(tensor->shape);
  free(tensor);
}

// A tensor with a deleter. `major` is its version.
EXPORT DLManagedTensorVersioned* managed_new(int32_t rows, int32_t columns, int32_t major, int32_t flags) {
  auto* managed = static_cast<DLManagedTensorVersioned*>(malloc(sizeof(DLManagedTensorVersioned)));
  auto* shape = static_cast<int64_t*>(malloc(2 * sizeof(int64_t)));
  auto* data = static_cast<float*>(malloc(sizeof(float) * static_cast<size_t>(rows * columns)));
  managed->version = {static_cast<uint32_t>(major), 3};
  managed->manager_ctx = nullptr;
  managed->deleter = DeleteTensor;
  managed->flags = static_cast<uint64_t>(flags);
  FillTensor(&managed->dl_tensor, shape, data, rows, columns);
  return managed;
}

// A tensor whose deleter fails.
EXPORT DLManagedTensorVersioned* managed_trap() {
  DLManagedTensorVersioned* managed = managed_new(1, 1, 1, 0);
  managed->deleter = [](DLManagedTensorVersioned*) { __builtin_trap(); };
  return managed;
}

// The sum of a float tensor with any strides of two axes.
EXPORT float sum(const DLTensor* tensor) {
  const auto* first = reinterpret_cast<const float*>(static_cast<char*>(tensor->data) + tensor->byte_offset);
  float total = 0;
  for (int64_t i = 0; i < tensor->shape[0]; i++) {
    for (int64_t j = 0; j < tensor->shape[1]; j++) {
      total += first[i * tensor->strides[0] + j * tensor->strides[1]];
    }
  }
  return total;
}

EXPORT void scale(DLTensor* tensor, float by) {
  auto* data = reinterpret_cast<float*>(static_cast<char*>(tensor->data) + tensor->byte_offset);
  int64_t size = 1;
  for (int32_t axis = 0; axis < tensor->ndim; axis++) size *= tensor->shape[axis];
  for (int64_t i = 0; i < size; i++) data[i] *= by;
}

// Keeps a tensor of the caller, uses it later, and calls its deleter.
EXPORT void keep(DLManagedTensorVersioned* managed) { kept = managed; }
EXPORT float use_kept() { return sum(&kept->dl_tensor); }
EXPORT void drop_kept() { kept->deleter(kept); }
