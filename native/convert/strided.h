// Gathers elements with gaps between them, or elements inside bytes, into contiguous elements, and scatters them back.
// Contiguous elements narrower than eight bits take a byte each. Any thread.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace dlpack {

// `bit` and `step` are in bits; `bits` is the width of an element.
void Gather(const uint8_t* memory, int64_t bit, int64_t step, int64_t bits, uint8_t* out, size_t count);
void Scatter(uint8_t* memory, int64_t bit, int64_t step, int64_t bits, const uint8_t* in, size_t count);

}  // namespace dlpack
