// An array as a CUDA Array Interface usually describes it.
#pragma once

#include <stdint.h>

#include "../descriptor.h"

namespace dlpack::python {

struct PlainArray {
  uint64_t pointer;
  uint64_t stream;  // 0: no need to wait
  DLDataType dtype;
  int32_t ndim;
  bool has_strides;
  bool is_read_only;
  int64_t shape[kMaxNdim];
  int64_t strides[kMaxNdim];  // bytes
};

}  // namespace dlpack::python
