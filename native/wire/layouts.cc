#include "layouts.h"

#include <stdlib.h>

#include "../bindings.h"
#include "wire.h"

namespace dlpack {

static const uint32_t kHashes = sizeof(LayoutTable::by_hash) / sizeof(uint16_t);

// The stride of an axis. A producer that gives no strides means row-major, where `step` is the product of the lengths
// that follow.
static inline int64_t StrideOf(const int64_t* strides, int32_t axis, uint64_t step) {
  return strides == nullptr ? static_cast<int64_t>(step) : strides[axis];
}

static inline uint64_t NextStep(uint64_t step, int64_t length) {
  return step * static_cast<uint64_t>(length == 0 ? 1 : length);
}

static uint32_t HashOf(const DLDataType& dtype, int32_t ndim, const int64_t* shape, const int64_t* strides) {
  uint64_t hash = dtype.code | uint64_t{dtype.bits} << 8 | uint64_t{dtype.lanes} << 16;
  uint64_t step = 1;
  for (int32_t i = ndim - 1; i >= 0; --i) {
    hash = hash * 31 + static_cast<uint64_t>(shape[i]);
    hash = hash * 31 + static_cast<uint64_t>(StrideOf(strides, i, step));
    step = NextStep(step, shape[i]);
  }
  return static_cast<uint32_t>(hash * 0x9e3779b97f4a7c15 >> 32) % kHashes;
}

// The tensor's shape is read once more here than in the hash; on a match only the values of the layout are used.
static bool IsSame(const DLTensor& tensor, uint64_t flags, const Layout& layout) {
  if (tensor.ndim != layout.ndim || flags != layout.flags || tensor.dtype.code != layout.dtype.code ||
      tensor.dtype.bits != layout.dtype.bits || tensor.dtype.lanes != layout.dtype.lanes ||
      tensor.device.device_type != layout.device.device_type || tensor.device.device_id != layout.device.device_id) {
    return false;
  }
  uint64_t step = 1;
  for (int32_t i = layout.ndim - 1; i >= 0; --i) {
    if (tensor.shape[i] != layout.shape[i] || StrideOf(tensor.strides, i, step) != layout.strides[i]) return false;
    step = NextStep(step, layout.shape[i]);
  }
  return true;
}

const Layout* LayoutTable::Find(const DLTensor& tensor, uint64_t flags) const {
  if (tensor.ndim < 0 || tensor.ndim > kMaxNdim || (tensor.shape == nullptr && tensor.ndim > 0)) return nullptr;
  const Layout* layout = kept[by_hash[HashOf(tensor.dtype, tensor.ndim, tensor.shape, tensor.strides)]];
  return layout != nullptr && IsSame(tensor, flags, *layout) ? layout : nullptr;
}

uint32_t LayoutTable::NumberOf(const Layout& layout) const {
  DLTensor tensor{};
  tensor.dtype = layout.dtype;
  tensor.device = layout.device;
  tensor.ndim = layout.ndim;
  tensor.shape = layout.shape;
  tensor.strides = layout.strides;
  const Layout* found = Find(tensor, layout.flags);
  return found == nullptr ? 0 : found->number;
}

bool LayoutTable::Keep(const Layout& layout, uint32_t number) {
  const size_t ndim = static_cast<size_t>(layout.ndim);
  Layout* copy = static_cast<Layout*>(malloc(sizeof(Layout) + sizeof(int64_t) * 2 * ndim));
  if (copy == nullptr) return false;
  copy->shape = reinterpret_cast<int64_t*>(copy + 1);
  copy->strides = copy->shape + ndim;
  CopyLayout(layout, copy);
  copy->number = number;
  const uint32_t place = number % kKeptLayouts;
  free(kept[place]);
  kept[place] = copy;
  by_hash[HashOf(copy->dtype, copy->ndim, copy->shape, copy->strides)] = static_cast<uint16_t>(place);
  return true;
}

void LayoutTable::Clear() {
  for (Layout* layout : kept) free(layout);
}

// keepLayout: the LayoutRequest has a place of its own.
static void KeepLayout(Instance* self, napi_env) {
  LayoutRequest* request = MessageAt<LayoutRequest>(self, kLayoutSlot);
  LayoutRoom layout;
  const Status status = request->number == 0 ? kUnknownLayout : ReadLayout(self, request->tensor, &layout);
  request->status = status == kOk && !self->layouts.Keep(layout, request->number) ? kOutOfMemory : status;
}

const NamedFunction kLayoutFunctions[] = {{"keepLayout", Binding<KeepLayout>::Call}, {}};

}  // namespace dlpack
