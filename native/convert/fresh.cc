#include "fresh.h"

#include "../platform/platform.h"

namespace dlpack {

bool IsFresh(const uint8_t* memory, int64_t bytes) {
  for (int64_t eighth = 1; eighth < 8; eighth += 2) {
    if (platform::IsPagePresent(memory + bytes / 8 * eighth)) return false;
  }
  return true;
}

}  // namespace dlpack
