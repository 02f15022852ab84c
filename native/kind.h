// Kind: what one import was like, everything but its memory. Most imports are like the one before; then nothing needs
// to be checked again but the pointer, and JavaScript has the arrays. JavaScript thread only.
#ifndef DLPACK_NODE_KIND_H_
#define DLPACK_NODE_KIND_H_

#include "abi/dlpack_abi.h"

namespace dlpack {

static const int32_t kMaxKindNdim = 8;

struct Kind {
  uint32_t number;     // 0: none yet; never that of an earlier kind
  bool is_comparable;  // it has few enough axes to be kept here
  bool has_strides;
  bool is_empty;
  DLDataType dtype;
  DLDevice device;
  int32_t ndim;
  uint64_t flags;
  // The bytes that the elements touch, from the first one on.
  int64_t low;
  int64_t high;
  int64_t shape[kMaxKindNdim];
  int64_t strides[kMaxKindNdim];
};

}  // namespace dlpack

#endif  // DLPACK_NODE_KIND_H_
