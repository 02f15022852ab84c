#include "fresh.h"

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace dlpack {

#if defined(__linux__)

bool IsFresh(const uint8_t* memory, int64_t bytes) {
  const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  for (int64_t eighth = 1; eighth < 8; eighth += 2) {
    const uintptr_t place = reinterpret_cast<uintptr_t>(memory) + static_cast<uintptr_t>(bytes / 8 * eighth);
    unsigned char is_present = 1;
    if (mincore(reinterpret_cast<void*>(place & ~(page - 1)), page, &is_present) != 0 || (is_present & 1) != 0) {
      return false;
    }
  }
  return true;
}

#else

bool IsFresh(const uint8_t*, int64_t) { return false; }

#endif

}  // namespace dlpack
