// Fresh memory: pages that were not used since they were allocated. Any thread.
#pragma once

#include <stdint.h>

namespace dlpack {

// Whether the system still has to provide pages for this memory. An estimate from a few addresses; false where the
// system does not report it.
bool IsFresh(const uint8_t* memory, int64_t bytes);

}  // namespace dlpack
