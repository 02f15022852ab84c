// Rows for any processor.
#define DLPACK_ISA portable
#include "codec.h"
#if defined(__aarch64__)
#include "rows_neon.h"
#endif
#include "rows_common.h"

namespace dlpack {

const Rows kPortableRows = []() constexpr -> Rows {
  using namespace portable;
  return DLPACK_DEFINE_ROWS;
}();

}  // namespace dlpack
