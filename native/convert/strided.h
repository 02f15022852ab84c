// Elements with gaps between them, or inside bytes, to and from elements side by side (a byte each below eight bits).
// Any thread.
#ifndef DLPACK_NODE_CONVERT_STRIDED_H_
#define DLPACK_NODE_CONVERT_STRIDED_H_

#include <stddef.h>
#include <stdint.h>

namespace dlpack {

// `bit` and `step` are bits; `bits` is the width of an element.
void Gather(const uint8_t* memory, int64_t bit, int64_t step, int64_t bits, uint8_t* out, size_t count);
void Scatter(uint8_t* memory, int64_t bit, int64_t step, int64_t bits, const uint8_t* in, size_t count);

}  // namespace dlpack

#endif  // DLPACK_NODE_CONVERT_STRIDED_H_
