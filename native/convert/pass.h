// Pass: one copy or cast over memory, as src/values/pass.ts describes it. Any thread.
#pragma once

#include "../abi/dlpack_abi.h"
#include "../memory/storage.h"
#include "rows.h"

namespace dlpack {

static const int32_t kMaxAxes = 66;  // the axes of a tensor, lanes, and the parts of complex numbers

// Offsets and steps are in bits. The outermost axis is first, and the target's steps decrease from there. JavaScript
// has merged the axes; binding.cc has checked that everything lies inside the memory.
struct Pass {
  const uint8_t* from;
  uint8_t* to;
  ElementType from_type;
  ElementType to_type;
  int64_t from_bits;
  int64_t to_bits;
  int64_t from_bit;
  int64_t to_bit;
  int32_t ndim;
  int32_t threads;
  int64_t shape[kMaxAxes];
  int64_t from_step[kMaxAxes];
  int64_t to_step[kMaxAxes];
  // A cast may multiply each number by a scale and add an offset. They are the same for all elements, or one for each
  // position on `scaled_axis`.
  const double* scale = nullptr;  // NULL: a plain cast
  const double* offset = nullptr;
  int32_t scaled_axis = -1;
};

// Sets the steps of a target without gaps, in row-major order.
inline void PackTarget(Pass* pass) {
  int64_t step = pass->to_bits;
  for (int32_t i = pass->ndim - 1; i >= 0; --i) {
    pass->to_step[i] = step;
    step *= pass->shape[i];  // at most 2^53 times 128
  }
}

// False when there is no row for these types.
bool CanRun(const Pass& pass);

void RunPass(const Pass& pass);

// Copies the elements of a tensor in host memory, in row-major order, into new memory of `nbytes` bytes, their exact
// size. `is_padded`: elements of fewer than eight bits take a byte each. NULL when out of memory. In copy_elements.cc.
Storage* CopyElements(const DLTensor& tensor, bool is_padded, uint64_t nbytes);

}  // namespace dlpack
