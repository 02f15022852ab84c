#include "pass.h"

namespace dlpack {

// The stride of an axis of length 1 can be any number, so only others are multiplied.
static void AddAxis(Pass* pass, int64_t length, int64_t stride, int64_t bits) {
  if (length == 1) return;
  pass->shape[pass->ndim] = length;
  pass->from_step[pass->ndim++] = stride * bits;
}

Storage* CopyElements(const DLTensor& tensor, bool is_padded, uint64_t nbytes) {
  Storage* copy = AllocateStorage(nbytes);
  if (copy == nullptr || nbytes == 0) return copy;
  const int64_t packed_bits = int64_t{tensor.dtype.bits} * tensor.dtype.lanes;
  const int64_t element_bits = is_padded ? (packed_bits + 7) / 8 * 8 : packed_bits;
  Pass pass = {};
  pass.from = static_cast<const uint8_t*>(tensor.data) + tensor.byte_offset;
  pass.to = static_cast<uint8_t*>(copy->data);
  pass.threads = 1;
  for (int32_t i = 0; i < tensor.ndim; ++i) AddAxis(&pass, tensor.shape[i], tensor.strides[i], element_bits);
  // An element is copied scalar by scalar, or byte by byte if its scalars have an unusual width.
  pass.from_bits = pass.to_bits = is_padded ? 8 : tensor.dtype.bits;
  pass.from_type = pass.to_type = kRaw;
  if (!CanRun(pass)) pass.from_bits = pass.to_bits = 8;
  AddAxis(&pass, element_bits / pass.from_bits, 1, pass.from_bits);
  PackTarget(&pass);
  pass.to[nbytes - 1] = 0;  // the bits after the last packed element are not written
  RunPass(pass);
  return copy;
}

}  // namespace dlpack
