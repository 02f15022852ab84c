// Rows for processors with AVX2. Compiled for every x86-64, chosen at run time.
#if defined(__x86_64__)
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,f16c"))), apply_to = function)
#else
#pragma GCC target("avx2,f16c")
#endif

#define DLPACK_ISA avx2
#include "codec.h"
#include "rows_avx2.h"
#include "rows_common.h"

namespace dlpack {

constexpr Rows kAvx2Rows = avx2::MakeRows();

}  // namespace dlpack

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
