// Descriptor: one tensor's dtype, device, layout and flags, and its offset in a storage. This is the addon's tensor
// type: a tensor from JavaScript becomes a Descriptor before it is used. Any thread.
#pragma once

#include "abi/dlpack_abi.h"
#include "wire_layout.h"

namespace dlpack {

// Number.MAX_SAFE_INTEGER: JavaScript numbers hold integers up to this exactly.
static const int64_t kMaxSafe = (int64_t{1} << 53) - 1;

struct Descriptor {
  DLDataType dtype;
  DLDevice device;
  int32_t ndim;
  uint32_t flags;         // DLPACK_FLAG_BITMASK_*
  uint64_t byte_offset;   // from the start of the storage to the first element
  DLPackVersion version;  // of the managed tensor that was imported; 0.0: legacy, or no import
  uint32_t signature;     // see managed_tensor.h; 0: none
  double trace;           // number of the place where an export is made, see trace.h; 0: not recorded
  // The first `ndim` of each are set. Strides are in elements.
  int64_t shape[kMaxNdim];
  int64_t strides[kMaxNdim];
};

// Reads a value by itself. Compilers merge reads of neighbouring values, and a wide read of values that were just
// written one by one has to wait until they have reached the cache.
template <class T>
inline T Alone(const T& value) {
  return *const_cast<const volatile T*>(&value);
}

// Clears everything except shape and strides, which are unused when there are no axes.
inline void Clear(Descriptor* descriptor) {
  descriptor->dtype = DLDataType{0, 0, 0};
  descriptor->device = DLDevice{0, 0};
  descriptor->ndim = 0;
  descriptor->flags = 0;
  descriptor->byte_offset = 0;
  descriptor->version = DLPackVersion{0, 0};
  descriptor->signature = 0;
  descriptor->trace = 0;
}

// Copies the descriptor of a tensor from JavaScript, which has no version and no signature, and only the axes that it
// has.
inline void CopyDescriptor(const Descriptor& from, Descriptor* to) {
  to->dtype = from.dtype;
  to->device = from.device;
  to->ndim = from.ndim;
  to->flags = from.flags;
  to->byte_offset = from.byte_offset;
  to->version = DLPackVersion{0, 0};
  to->signature = 0;
  to->trace = from.trace;
  for (int32_t i = 0; i < from.ndim; ++i) {
    to->shape[i] = from.shape[i];
    to->strides[i] = from.strides[i];
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
    case kDLOneAPI: return true;
    default: return false;
  }
}

// The dtypes of DLPack 1.3: the same list as in src/dtype.ts.
inline bool IsKnownDType(const DLDataType& dtype) {
  const int bits = dtype.bits;
  if (dtype.lanes == 0 || bits == 0) return false;
  const bool is_wide = (bits & (bits - 1)) == 0 && bits <= 128;
  switch (dtype.code) {
    case kDLInt:
    case kDLUInt: return is_wide;
    case kDLFloat: return is_wide && bits >= 16;
    case kDLComplex: return is_wide && bits >= 32;
    case kDLOpaqueHandle: return bits == 64;
    case kDLBfloat: return bits == 16;
    case kDLBool: return bits == 8;
    case kDLFloat6_e2m3fn:
    case kDLFloat6_e3m2fn: return bits == 6;
    case kDLFloat4_e2m1fn: return bits == 4;
    default: return dtype.code >= kDLFloat8_e3m4 && dtype.code <= kDLFloat8_e8m0fnu && bits == 8;
  }
}

// The device types of DLPack 1.3: the same list as in src/device.ts.
inline bool IsKnownDevice(int32_t device_type) {
  return (device_type >= kDLCPU && device_type <= kDLOpenCL) || (device_type >= kDLVulkan && device_type <= kDLTrn);
}

inline bool IsEmpty(const Descriptor& descriptor) {
  for (int32_t i = 0; i < descriptor.ndim; ++i) {
    if (descriptor.shape[i] == 0) return true;
  }
  return false;
}

// The bytes that a tensor touches, from `low` (zero or less) to `high`, relative to its first element. False when they
// exceed what JavaScript can count.
inline bool SpanOf(const Descriptor& descriptor, int64_t* low, int64_t* high) {
  *low = *high = 0;
  if (IsEmpty(descriptor)) return true;  // no bytes, whatever the strides are
  // Counts in elements first, so that only one multiplication can overflow.
  int64_t first = 0;
  int64_t last = 0;
  for (int32_t i = 0; i < descriptor.ndim; ++i) {
    int64_t reach;
    if (__builtin_mul_overflow(descriptor.shape[i] - 1, descriptor.strides[i], &reach) ||
        __builtin_add_overflow(reach < 0 ? first : last, reach, reach < 0 ? &first : &last)) {
      return false;
    }
  }
  const int64_t item_bits = int64_t{descriptor.dtype.bits} * descriptor.dtype.lanes;
  const bool padded = (descriptor.flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) != 0;
  const int64_t stride_bits = padded ? (item_bits + 7) / 8 * 8 : item_bits;
  if (__builtin_mul_overflow(first, stride_bits, &first) || __builtin_mul_overflow(last, stride_bits, &last) ||
      __builtin_add_overflow(last, item_bits, &last) || first < -kMaxSafe * 8 || last > kMaxSafe * 8) {
    return false;
  }
  *low = -((-first + 7) >> 3);
  *high = (last + 7) >> 3;
  return *high - *low <= kMaxSafe;
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

// True when the bytes that a tensor at `byte_offset` touches lie inside `nbytes` bytes.
inline bool IsInside(int64_t low, int64_t high, uint64_t byte_offset, uint64_t nbytes) {
  if (low == high) return true;  // no elements
  const int64_t offset = static_cast<int64_t>(byte_offset);
  return offset + low >= 0 && static_cast<uint64_t>(offset + high) <= nbytes;
}

// Checks that the tensor lies inside `nbytes` bytes. A mistake in its description must not become a pointer.
inline Status CheckInside(const Descriptor& descriptor, uint64_t nbytes) {
  int64_t low;
  int64_t high;
  if (!SpanOf(descriptor, &low, &high)) return kTooLarge;
  return IsInside(low, high, descriptor.byte_offset, nbytes) ? kOk : kTooLarge;
}

// The tensor as a DLTensor over a storage that begins at `data`. Its shape and strides are written to `dims`.
inline DLTensor TensorOver(const Descriptor& descriptor, void* data, int64_t* dims) {
  const int32_t ndim = descriptor.ndim;
  bool empty = false;
  for (int32_t i = 0; i < ndim; ++i) {
    const int64_t length = Alone(descriptor.shape[i]);
    dims[i] = length;
    dims[ndim + i] = Alone(descriptor.strides[i]);
    empty |= length == 0;
  }
  // The offset is added to the pointer where possible, because several consumers ignore byte_offset.
  const bool is_addressable = IsAddressable(descriptor.device.device_type);
  DLTensor tensor;
  tensor.data = empty ? nullptr : static_cast<char*>(data) + (is_addressable ? descriptor.byte_offset : 0);
  tensor.device = descriptor.device;
  tensor.ndim = ndim;
  tensor.dtype = descriptor.dtype;
  tensor.shape = dims;
  tensor.strides = dims + ndim;
  tensor.byte_offset = empty || is_addressable ? 0 : descriptor.byte_offset;
  return tensor;
}

}  // namespace dlpack
