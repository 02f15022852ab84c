#include "descriptor.h"

namespace dlpack {

bool SpanOf(const Descriptor& descriptor, int64_t* low, int64_t* high) {
  const int64_t item_bits = int64_t{descriptor.dtype.bits} * descriptor.dtype.lanes;
  const bool padded = (descriptor.flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) != 0;
  const int64_t stride_bits = padded ? (item_bits + 7) / 8 * 8 : item_bits;
  // In elements first, so that what can overflow is multiplied once.
  int64_t first = 0;
  int64_t last = 0;
  bool overflow = false;
  for (int32_t i = 0; i < descriptor.ndim; ++i) {
    const int64_t length = descriptor.shape[i];
    if (length == 0) {
      *low = *high = 0;
      return true;
    }
    int64_t reach;
    overflow |= __builtin_mul_overflow(length - 1, descriptor.strides[i], &reach);
    overflow |= __builtin_add_overflow(first, reach < 0 ? reach : 0, &first);
    overflow |= __builtin_add_overflow(last, reach < 0 ? 0 : reach, &last);
  }
  overflow |= __builtin_mul_overflow(first, stride_bits, &first);
  overflow |= __builtin_mul_overflow(last, stride_bits, &last);
  overflow |= __builtin_add_overflow(last, item_bits, &last);
  if (overflow || first < -kMaxSafe * 8 || last > kMaxSafe * 8) return false;
  *low = -((-first + 7) >> 3);
  *high = (last + 7) >> 3;
  return *high - *low <= kMaxSafe;
}

Status CheckInside(const Descriptor& descriptor, uint64_t nbytes) {
  int64_t low;
  int64_t high;
  if (!SpanOf(descriptor, &low, &high)) return kTooLarge;
  if (low == high) return kOk;  // no elements
  const int64_t offset = static_cast<int64_t>(descriptor.byte_offset);
  return offset + low >= 0 && static_cast<uint64_t>(offset + high) <= nbytes ? kOk : kTooLarge;
}

DLTensor TensorOver(const Descriptor& descriptor, void* data, int64_t* dims) {
  const int32_t ndim = descriptor.ndim;
  bool empty = false;
  for (int32_t i = 0; i < ndim; ++i) {
    dims[i] = descriptor.shape[i];
    dims[ndim + i] = descriptor.strides[i];
    empty |= dims[i] == 0;
  }
  // The offset goes into the pointer wherever it can: several consumers ignore byte_offset.
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
