// Rows for any processor.
#define DLPACK_ISA portable
#include "codec.h"
#if defined(__aarch64__)
#include "rows_neon.h"
#endif
#include "rows_common.h"

namespace dlpack {

constexpr Rows kPortableRows = portable::MakeRows();

}  // namespace dlpack
