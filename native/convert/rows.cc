#include "rows.h"

#include <stdlib.h>
#include <string.h>

#include "../lock.h"
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace dlpack {

#if defined(__x86_64__)

static uint64_t EnabledState() {
  uint32_t low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<uint64_t>(high) << 32) | low;
}

// Queries the processor directly, because the compiler's helper for this is in a library that the addon does not link.
static const Rows* Detect() {
  uint32_t a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return &kPortableRows;
  const bool has_state = (c & bit_OSXSAVE) != 0 && (c & bit_AVX) != 0;
  if (!has_state || (c & bit_F16C) == 0) return &kPortableRows;
  const uint64_t enabled = EnabledState();
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (b & bit_AVX2) == 0 || (enabled & 0x6) != 0x6) return &kPortableRows;
#if DLPACK_HAS_AVX512
  const uint32_t wanted = bit_AVX512F | bit_AVX512BW | bit_AVX512VL | bit_AVX512DQ;
  if ((b & wanted) == wanted && (enabled & 0xe6) == 0xe6) return &kAvx512Rows;
#endif
  return &kAvx2Rows;
}

static const Rows* Choose() {
  const Rows* best = Detect();
  const char* asked = getenv("DLPACK_CPU");
  if (asked != nullptr && strcmp(asked, "portable") == 0) return &kPortableRows;
  return asked != nullptr && strcmp(asked, "avx2") == 0 && best != &kPortableRows ? &kAvx2Rows : best;
}

const Rows& BestRows() { return *ComputeOnce<const Rows*, Choose>(); }

#else

const Rows& BestRows() { return kPortableRows; }

#endif

}  // namespace dlpack
