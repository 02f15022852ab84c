// Rows for processors with AVX-512, chosen at run time.
#include "../platform/platform.h"
#if DLPACK_HAS_AVX512
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,f16c,avx512f,avx512bw,avx512vl,avx512dq"))), \
                             apply_to = function)
#else
// The headers of GCC before 13 use an uninitialised variable on purpose, as an undefined value.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC target("avx2,f16c,avx512f,avx512bw,avx512vl,avx512dq,prefer-vector-width=512")
#endif

#define DLPACK_ISA avx512
#include "codec.h"
#include "rows_avx512.h"
#include "rows_common.h"

namespace dlpack {

constexpr Rows kAvx512Rows = avx512::MakeRows();

}  // namespace dlpack

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
