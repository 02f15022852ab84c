// Fresh memory: pages that nobody has used since they were allocated. Any thread.
#ifndef DLPACK_NODE_CONVERT_FRESH_H_
#define DLPACK_NODE_CONVERT_FRESH_H_

#include <stdint.h>

namespace dlpack {

// Whether the system still has to find pages for this memory. A guess from a few places; false where the system does
// not tell.
bool IsFresh(const uint8_t* memory, int64_t bytes);

}  // namespace dlpack

#endif  // DLPACK_NODE_CONVERT_FRESH_H_
