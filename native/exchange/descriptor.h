// Layout: everything about a tensor except its memory. Descriptor: a layout and an offset in a storage. This is the
// addon's tensor type: a tensor from JavaScript becomes a Descriptor before it is used. Any thread.
#pragma once

#include "../abi/dlpack_abi.h"
#include "../dtype_table.h"
#include "../wire/wire_layout.h"

namespace dlpack {

// Number.MAX_SAFE_INTEGER: JavaScript numbers hold integers up to this exactly.
static const int64_t kMaxSafe = (int64_t{1} << 53) - 1;

// The bytes that the elements of a tensor touch, relative to the first element. Both are 0 without elements.
struct Reach {
  int64_t low;  // zero or less
  int64_t high;
};

// Everything about a tensor except its memory.
struct Layout {
  uint32_t number;  // in the table of an instance, see layouts.h; 0: not there
  uint32_t flags;   // DLPACK_FLAG_BITMASK_*
  DLDataType dtype;
  DLDevice device;
  int32_t ndim;
  Reach reach;
  // Of `ndim` axes. Strides are in elements.
  int64_t* shape;
  int64_t* strides;
};

// A Layout with room for all axes, for a layout that no table keeps.
struct LayoutRoom : Layout {
  LayoutRoom() : Layout{} {
    shape = dims;
    strides = dims + kMaxNdim;
  }
  LayoutRoom(const LayoutRoom&) = delete;  // its pointers point into it
  LayoutRoom& operator=(const LayoutRoom&) = delete;

  int64_t dims[2 * kMaxNdim];
};

// A tensor in a storage that its user knows.
struct Descriptor {
  const Layout* layout;
  uint64_t byte_offset;  // from the start of the storage to the first element
  double trace;          // number of the place where an export is made, see trace.h; 0: not recorded
};

// Reads a value by itself. Compilers merge reads of neighbouring values, and a wide read of values that were just
// written one by one has to wait until they have reached the cache.
template <class T>
inline T Alone(const T& value) {
  return *const_cast<const volatile T*>(&value);
}

// Copies a layout into one with room for its axes. Only the axes that it has, one by one, because most tensors have few
// and the compiler would make long vector code.
inline void CopyLayout(const Layout& from, Layout* to) {
  to->number = from.number;
  to->flags = from.flags;
  to->dtype = from.dtype;
  to->device = from.device;
  to->ndim = from.ndim;
  to->reach = from.reach;
  for (int32_t i = 0; i < from.ndim; ++i) {
    to->shape[i] = Alone(from.shape[i]);
    to->strides[i] = Alone(from.strides[i]);
  }
}

// Device types whose `data` is an address: the same list as in src/device.ts.
inline bool IsAddressable(int32_t device_type) {
  switch (device_type) {
    case kDLCPU:
    case kDLCUDA:
    case kDLCUDAHost:
    case kDLROCM:
    case kDLROCMHost:
    case kDLCUDAManaged:
    case kDLTPUHost:
    case kDLOneAPI: return true;
    default: return false;
  }
}

inline bool IsKnownDType(const DLDataType& dtype) {
  switch (dtype.code << 8 | dtype.bits) {
#define X(code, bits) case (code) << 8 | (bits):
    DLPACK_DTYPES(X)
#undef X
    return dtype.lanes != 0;
    default: return false;
  }
}

// The device types of DLPack: the same list as in src/device.ts.
inline bool IsKnownDevice(int32_t device_type) {
  return (device_type >= kDLCPU && device_type <= kDLOpenCL) || (device_type >= kDLVulkan && device_type <= kDLAscend);
}

inline bool IsEmpty(const Layout& layout) {
  for (int32_t i = 0; i < layout.ndim; ++i) {
    if (layout.shape[i] == 0) return true;
  }
  return false;
}

// Sets what the elements reach. False when that exceeds what JavaScript can count.
inline bool Measure(Layout* layout) {
  layout->reach = Reach{0, 0};
  if (IsEmpty(*layout)) return true;  // no bytes, whatever the strides are
  // Counts in elements first, so that only one multiplication can overflow.
  int64_t first = 0;
  int64_t last = 0;
  for (int32_t i = 0; i < layout->ndim; ++i) {
    int64_t reach;
    if (__builtin_mul_overflow(layout->shape[i] - 1, layout->strides[i], &reach) ||
        __builtin_add_overflow(reach < 0 ? first : last, reach, reach < 0 ? &first : &last)) {
      return false;
    }
  }
  const int64_t item_bits = int64_t{layout->dtype.bits} * layout->dtype.lanes;
  const bool padded = (layout->flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) != 0;
  const int64_t stride_bits = padded ? (item_bits + 7) / 8 * 8 : item_bits;
  if (__builtin_mul_overflow(first, stride_bits, &first) || __builtin_mul_overflow(last, stride_bits, &last) ||
      __builtin_add_overflow(last, item_bits, &last) || first < -kMaxSafe * 8 || last > kMaxSafe * 8) {
    return false;
  }
  layout->reach = Reach{-((-first + 7) >> 3), (last + 7) >> 3};
  return layout->reach.high - layout->reach.low <= kMaxSafe;
}

// Whether all items of the size `item`, the first of them at `offset`, lie inside `size`, in any unit. JavaScript wrote
// these numbers, and a mistake in them must not become an address. No items lie inside anything.
inline bool FitsInside(int32_t ndim, const int64_t* shape, const int64_t* steps, int64_t offset, int64_t item,
                       uint64_t size) {
  int64_t low = offset;
  int64_t high = offset;
  for (int32_t i = 0; i < ndim; ++i) {
    if (shape[i] <= 0) return shape[i] == 0;
    int64_t reach;
    if (__builtin_mul_overflow(shape[i] - 1, steps[i], &reach) ||
        __builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high)) {
      return false;
    }
  }
  return !__builtin_add_overflow(high, item, &high) && low >= 0 && static_cast<uint64_t>(high) <= size;
}

// True when the bytes that a tensor touches lie inside `nbytes` bytes. A mistake in a description must not become a
// pointer.
inline bool IsInside(const Descriptor& tensor, uint64_t nbytes) {
  const Reach& reach = tensor.layout->reach;
  if (reach.low == reach.high) return true;  // no elements
  const int64_t offset = static_cast<int64_t>(tensor.byte_offset);
  return offset + reach.low >= 0 && static_cast<uint64_t>(offset + reach.high) <= nbytes;
}

// The tensor as a DLTensor over a storage that begins at `data`. Its shape and strides are written to `dims`.
inline DLTensor TensorOver(const Descriptor& descriptor, void* data, int64_t* dims) {
  const Layout& layout = *descriptor.layout;
  const int32_t ndim = layout.ndim;
  bool empty = false;
  for (int32_t i = 0; i < ndim; ++i) {
    const int64_t length = Alone(layout.shape[i]);
    dims[i] = length;
    dims[ndim + i] = Alone(layout.strides[i]);
    empty |= length == 0;
  }
  // The offset is added to the pointer where possible, because several consumers ignore byte_offset.
  const bool is_addressable = IsAddressable(layout.device.device_type);
  DLTensor tensor;
  tensor.data = empty ? nullptr : static_cast<char*>(data) + (is_addressable ? descriptor.byte_offset : 0);
  tensor.device = layout.device;
  tensor.ndim = ndim;
  tensor.dtype = layout.dtype;
  tensor.shape = dims;
  tensor.strides = dims + ndim;
  tensor.byte_offset = empty || is_addressable ? 0 : descriptor.byte_offset;
  return tensor;
}

}  // namespace dlpack
