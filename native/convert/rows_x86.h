// Shared by the hand-written rows of AVX2 and AVX-512: the format of small floats, and transposing tiles.
#define DLPACK_ROWS_BY_HAND
#define DLPACK_ROWS_TRANSPOSE

namespace dlpack::DLPACK_ISA {

// A value of a format with no more exponent bits than float16 is a shifted float16 times a power of two. This way the
// processor handles subnormal numbers at full speed.
template <class Type>
struct Half {
  static constexpr bool kIsSmall = false, kPossible = false;
};

template <int kE, int kM, int kBias, Specials kSpecials>
struct Half<Small<kE, kM, kBias, kSpecials>> {
  typedef Mini<kE, kM, kBias, kSpecials> Format;
  static constexpr bool kIsSmall = true;
  static constexpr bool kPossible = kE < 5 || (kSpecials == kIeee && kBias == 15);
  static constexpr float kScale = static_cast<float>(PowerOfTwo(15 - kBias));

  // Sixteen codes, each in sixteen bits; bits above a code are ignored. The results for infinity and NaN are wrong.
  DLPACK_INLINE __m256i Numbers(__m256i codes) {
    constexpr int kGap = kE < 5 ? 5 - kE : 0;
    constexpr int kCopies = ((1 << kGap) - 1) << (15 - kGap);
    const __m256i high = _mm256_slli_epi16(codes, 15 - kE - kM);
    // The arithmetic shift copies the sign into these bits.
    return _mm256_andnot_si256(_mm256_set1_epi16(static_cast<int16_t>(kCopies)), _mm256_srai_epi16(high, kGap));
  }
};

// Blocks of eight by eight 32-bit elements.
DLPACK_INLINE void TransposeByHand(const uint8_t* in, int64_t row_bytes, uint8_t* out, size_t out_stride, size_t rows,
                                   size_t columns, size_t* rows_done, size_t* columns_done) {
  *rows_done = rows & ~size_t{7};
  *columns_done = columns & ~size_t{7};
  float* to = reinterpret_cast<float*>(out);
  for (size_t j = 0; j < *rows_done; j += 8) {
    for (size_t i = 0; i < *columns_done; i += 8) {
      __m256 r[8], s[8];
      for (int64_t k = 0; k < 8; ++k) {
        r[k] = _mm256_loadu_ps(reinterpret_cast<const float*>(in + (static_cast<int64_t>(j) + k) * row_bytes) + i);
      }
      for (int k = 0; k < 8; k += 2) {
        s[k] = _mm256_unpacklo_ps(r[k], r[k + 1]);
        s[k + 1] = _mm256_unpackhi_ps(r[k], r[k + 1]);
      }
      for (int k = 0; k < 8; k += 4) {
        r[k] = _mm256_shuffle_ps(s[k], s[k + 2], 0x44);
        r[k + 1] = _mm256_shuffle_ps(s[k], s[k + 2], 0xee);
        r[k + 2] = _mm256_shuffle_ps(s[k + 1], s[k + 3], 0x44);
        r[k + 3] = _mm256_shuffle_ps(s[k + 1], s[k + 3], 0xee);
      }
      for (size_t k = 0; k < 4; ++k) {
        _mm256_storeu_ps(to + (i + k) * out_stride + j, _mm256_permute2f128_ps(r[k], r[k + 4], 0x20));
        _mm256_storeu_ps(to + (i + k + 4) * out_stride + j, _mm256_permute2f128_ps(r[k], r[k + 4], 0x31));
      }
    }
  }
}

}  // namespace dlpack::DLPACK_ISA
