// Rows that AVX2 has instructions for which compilers do not find, and some for AVX-512 (DLPACK_AVX512). Each returns how
// many elements it did; the loop behind it does the rest.
#define DLPACK_ROWS_BY_HAND
#define DLPACK_ROWS_TRANSPOSE

namespace dlpack {
namespace DLPACK_ISA {

template <class Type>
struct Half {
  static constexpr bool kIsSmall = false, kPossible = false;
};

// A format with at most the exponent of float16 is one, shifted, times a power of two: the processor then handles
// subnormal numbers at full speed.
template <int kE, int kM, int kBias, Specials kSpecials>
struct Half<Small<kE, kM, kBias, kSpecials>> {
  typedef Mini<kE, kM, kBias, kSpecials> Format;
  static constexpr bool kIsSmall = true;
  static constexpr bool kPossible = kE < 5 || (kSpecials == kIeee && kBias == 15);
  static constexpr float kScale = static_cast<float>(PowerOfTwo(15 - kBias));

  // Sixteen codes, each in sixteen bits.
  DLPACK_INLINE __m256i FromCodes(__m256i codes) {
    const __m256i magnitude = _mm256_and_si256(codes, _mm256_set1_epi16(Format::kSign - 1));
    const __m256i sign = _mm256_slli_epi16(_mm256_and_si256(codes, _mm256_set1_epi16(Format::kSign)), 15 - kE - kM);
    const __m256i half = _mm256_or_si256(_mm256_slli_epi16(magnitude, 10 - kM), sign);
    const __m256i nan = _mm256_set1_epi16(0x7e00);
    if (kSpecials == kNone) return half;
    if (kSpecials == kFnuz) {
      return _mm256_blendv_epi8(half, nan, _mm256_cmpeq_epi16(codes, _mm256_set1_epi16(Format::kNan)));
    }
    const __m256i last = _mm256_set1_epi16(kSpecials == kIeee ? Format::kTop : Format::kMax);
    const __m256i number = _mm256_blendv_epi8(half, nan, _mm256_cmpgt_epi16(magnitude, last));
    if (kSpecials == kFn || kE == 5) return number;
    const __m256i infinity = _mm256_or_si256(sign, _mm256_set1_epi16(0x7c00));
    return _mm256_blendv_epi8(number, infinity, _mm256_cmpeq_epi16(magnitude, _mm256_set1_epi16(Format::kTop)));
  }

  DLPACK_INLINE void Store(__m256i codes, float* to) {
    const __m256i half = FromCodes(codes);
#if defined(DLPACK_AVX512)
    _mm512_storeu_ps(to, _mm512_mul_ps(_mm512_cvtph_ps(half), _mm512_set1_ps(kScale)));
#else
    const __m256 scale = _mm256_set1_ps(kScale);
    _mm256_storeu_ps(to, _mm256_mul_ps(_mm256_cvtph_ps(_mm256_castsi256_si128(half)), scale));
    _mm256_storeu_ps(to + 8, _mm256_mul_ps(_mm256_cvtph_ps(_mm256_extracti128_si256(half, 1)), scale));
#endif
  }
};

template <class Type>
DLPACK_INLINE size_t ToF32ByHand(const uint8_t* in, uint8_t* out, size_t count) {
  float* to = reinterpret_cast<float*>(out);
  size_t i = 0;
  if constexpr (__is_same(Type, Float16)) {
#if defined(DLPACK_AVX512)
    const __m512 quiet = _mm512_castsi512_ps(_mm512_set1_epi32(static_cast<int>(kNan32)));
    for (; i + 16 <= count; i += 16) {
      const __m512 wide = _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + i * 2)));
      _mm512_storeu_ps(to + i, _mm512_mask_mov_ps(wide, _mm512_cmp_ps_mask(wide, wide, _CMP_UNORD_Q), quiet));
    }
#endif
    const __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(static_cast<int>(kNan32)));
    for (; i + 8 <= count; i += 8) {
      const __m256 wide = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i * 2)));
      _mm256_storeu_ps(to + i, _mm256_blendv_ps(wide, nan, _mm256_cmp_ps(wide, wide, _CMP_UNORD_Q)));
    }
  } else if constexpr (Half<Type>::kPossible) {
    for (; i + 16 <= count; i += 16) {
      Half<Type>::Store(_mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i))), to + i);
    }
  }
  return i;
}

#if defined(DLPACK_AVX512)

// Sixteen numbers into codes, as Mini::Encode does it, with one rounding for normal and subnormal numbers: the sum with a
// number whose last bit is that of the code.
template <int kE, int kM, int kBias, Specials kSpecials>
DLPACK_INLINE __m512i EncodeSixteen(Small<kE, kM, kBias, kSpecials>, __m512 value) {
  typedef Mini<kE, kM, kBias, kSpecials> Format;
  constexpr int kShift = 23 - kM;
  constexpr int32_t kNormal = (128 - kBias) << 23;
  // The largest float that still rounds to a number: half a step above the last one, if halfway goes down there.
  constexpr int32_t kLargest = static_cast<int32_t>(Format::kMax << kShift) + ((127 - kBias) << 23);
  constexpr int32_t kLast = kLargest + (1 << (kShift - 1)) - (Format::kMax % 2 == 0 ? 0 : 1);
  constexpr int32_t kBeyond = kSpecials == kFnuz ? Format::kNan : kSpecials == kNone ? Format::kMax : Format::kMax + 1;
  const __m512i bits = _mm512_castps_si512(value);
  const __m512i magnitude = _mm512_and_si512(bits, _mm512_set1_epi32(INT32_MAX));
  const __m512i power = _mm512_max_epi32(_mm512_and_si512(bits, _mm512_set1_epi32(0x7f800000)),
                                         _mm512_set1_epi32(kNormal));
  const __m512i unit = _mm512_add_epi32(power, _mm512_set1_epi32(kShift << 23));
  const __m512i sum = _mm512_castps_si512(_mm512_add_ps(_mm512_castsi512_ps(magnitude), _mm512_castsi512_ps(unit)));
  const __m512i exponent = _mm512_srli_epi32(_mm512_sub_epi32(power, _mm512_set1_epi32(kNormal)), kShift);
  const __m512i code = _mm512_add_epi32(_mm512_sub_epi32(sum, unit), exponent);
  const __mmask16 beyond = _mm512_cmpgt_epi32_mask(magnitude, _mm512_set1_epi32(kLast));
  const __m512i sign = _mm512_and_si512(_mm512_srli_epi32(bits, 31 - kE - kM), _mm512_set1_epi32(Format::kSign));
  const __m512i nan = _mm512_set1_epi32(Format::kNan);
  const __m512i limit = _mm512_set1_epi32(kBeyond);
  const __mmask16 is_nan = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
  __m512i result;
  if (kSpecials == kFnuz) {
    const __m512i number = _mm512_mask_or_epi32(code, _mm512_test_epi32_mask(code, code), code, sign);
    result = _mm512_mask_mov_epi32(number, beyond, limit);
  } else {
    result = _mm512_or_si512(_mm512_mask_mov_epi32(code, beyond, limit), sign);
  }
  return _mm512_mask_mov_epi32(result, is_nan, nan);
}

// The upper half of a float, rounded into.
DLPACK_INLINE __m512i RoundUpperHalf(const float* from) {
  const __m512 value = _mm512_loadu_ps(from);
  const __m512i bits = _mm512_castps_si512(value);
  const __m512i last = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), last);
  const __mmask16 is_nan = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
  return _mm512_mask_mov_epi32(rounded, is_nan, _mm512_set1_epi32(static_cast<int>(kNan32)));
}

#endif

template <class Type>
DLPACK_INLINE size_t FromF32ByHand(const uint8_t* in, uint8_t* out, size_t count) {
  const float* from = reinterpret_cast<const float*>(in);
  size_t i = 0;
#if defined(DLPACK_AVX512)
  if constexpr (Half<Type>::kIsSmall) {
    for (; i + 16 <= count; i += 16) {
      const __m512i codes = EncodeSixteen(Type(), _mm512_loadu_ps(from + i));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), _mm512_cvtepi32_epi8(codes));
    }
    return i;
  } else if constexpr (__is_same(Type, Float16)) {
    for (; i + 16 <= count; i += 16) {
      const __m512 wide = _mm512_loadu_ps(from + i);
      const __m256i half = _mm512_cvtps_ph(wide, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
      const __mmask16 is_nan = _mm512_cmp_ps_mask(wide, wide, _CMP_UNORD_Q);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i * 2),
                          _mm256_mask_mov_epi16(half, is_nan, _mm256_set1_epi16(0x7e00)));
    }
    return i;
  } else if constexpr (__is_same(Type, BFloat16)) {
    alignas(64) uint16_t upper[32];
    for (uint16_t k = 0; k < 32; ++k) upper[k] = static_cast<uint16_t>(2 * k + 1);
    const __m512i halves = _mm512_load_si512(upper);
    for (; i + 32 <= count; i += 32) {
      const __m512i both = _mm512_permutex2var_epi16(RoundUpperHalf(from + i), halves, RoundUpperHalf(from + i + 16));
      _mm512_storeu_si512(out + i * 2, both);
    }
    return i;
  }
#endif
  if constexpr (__is_same(Type, Float16)) {
    // NaN as a number first, so that its sign and payload do not get through.
    const __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(static_cast<int>(kNan32)));
    for (; i + 8 <= count; i += 8) {
      const __m256 wide = _mm256_loadu_ps(from + i);
      const __m256 clean = _mm256_blendv_ps(wide, nan, _mm256_cmp_ps(wide, wide, _CMP_UNORD_Q));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i * 2),
                       _mm256_cvtps_ph(clean, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    }
  }
  return i;
}

#if defined(DLPACK_AVX512)

// Sixteen values by their codes, which may carry other bits above the lowest four.
DLPACK_INLINE __m512 Lookup16(const float* table, __m512i codes) {
  return _mm512_permutexvar_ps(codes, _mm512_loadu_ps(table));
}

template <class Type>
DLPACK_INLINE size_t PackedToF32ByHand(const uint8_t* in, uint8_t* out, size_t count) {
  float* to = reinterpret_cast<float*>(out);
  size_t i = 0;
  if constexpr (__is_same(Type, Int4) || __is_same(Type, UInt4) || __is_same(Type, E2M1FN)) {
    float table[16];
    for (uint8_t code = 0; code < 16; ++code) table[code] = Type::F32(code);
    const __m512i half = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
    const __m512i shifts = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28);
    for (; i + 16 <= count; i += 16) {
      const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(in + i / 2));
      const __m512i spread = _mm512_permutexvar_epi32(half, _mm512_castsi128_si512(bytes));
      _mm512_storeu_ps(to + i, Lookup16(table, _mm512_srlv_epi32(spread, shifts)));
    }
  } else if constexpr (__is_same(Type, E2M3FN) || __is_same(Type, E3M2FN)) {
    const __m512 low = _mm512_loadu_ps(Type::kTable.values);
    const __m512 high = _mm512_loadu_ps(Type::kTable.values + 16);
    // Four elements lie in three bytes: each lane of sixteen bytes takes its own three.
    const __m512i lanes = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, -1, -1, 0, 1, -1, -1, 1, 2, -1, -1, 2, 3, -1, -1));
    const __m512i starts = _mm512_add_epi8(
        lanes, _mm512_and_si512(_mm512_movm_epi8(_mm512_cmpge_epi8_mask(lanes, _mm512_setzero_si512())),
                                _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_setr_epi64x(
                                                       0, 0, 0x0303030303030303, 0x0303030303030303)),
                                                   _mm256_setr_epi64x(0x0606060606060606, 0x0606060606060606,
                                                                      0x0909090909090909, 0x0909090909090909),
                                                   1)));
    const __m512i shifts = _mm512_broadcast_i32x4(_mm_setr_epi32(0, 6, 4, 2));
    // Sixteen bytes are read and twelve used.
    for (; i + 24 <= count; i += 16) {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i / 4 * 3));
      const __m512i pairs = _mm512_shuffle_epi8(_mm512_broadcast_i32x4(bytes), starts);
      const __m512i codes = _mm512_srlv_epi32(pairs, shifts);
      const __m512 magnitude = _mm512_permutex2var_ps(low, codes, high);
      const __m512i sign = _mm512_and_si512(_mm512_slli_epi32(codes, 26), _mm512_set1_epi32(INT32_MIN));
      _mm512_storeu_si512(to + i, _mm512_or_si512(_mm512_castps_si512(magnitude), sign));
    }
  }
  return i;
}

#else

template <class Type>
DLPACK_INLINE size_t PackedToF32ByHand(const uint8_t* in, uint8_t* out, size_t count) {
  float* to = reinterpret_cast<float*>(out);
  size_t i = 0;
  if constexpr (__is_same(Type, Int4) || __is_same(Type, UInt4) || __is_same(Type, E2M1FN)) {
    const __m256i shifts = _mm256_setr_epi32(28, 24, 20, 16, 12, 8, 4, 0);
    for (; i + 8 <= count; i += 8) {
      uint32_t word;
      memcpy(&word, in + i / 2, 4);
      // Each element ends up in the highest four bits of its lane.
      const __m256i high = _mm256_sllv_epi32(_mm256_set1_epi32(static_cast<int>(word)), shifts);
      if constexpr (__is_same(Type, E2M1FN)) {
        const __m256 magnitudes = _mm256_loadu_ps(Type::kTable.values);
        const __m256 value = _mm256_permutevar8x32_ps(magnitudes, _mm256_srli_epi32(high, 28));
        const __m256i sign = _mm256_and_si256(high, _mm256_set1_epi32(INT32_MIN));
        _mm256_storeu_ps(to + i, _mm256_or_ps(value, _mm256_castsi256_ps(sign)));
      } else {
        const __m256i value = __is_same(Type, Int4) ? _mm256_srai_epi32(high, 28) : _mm256_srli_epi32(high, 28);
        _mm256_storeu_ps(to + i, _mm256_cvtepi32_ps(value));
      }
    }
  } else if constexpr (__is_same(Type, E2M3FN) || __is_same(Type, E3M2FN)) {
    const __m256i starts =
        _mm256_setr_epi8(0, 1, -1, -1, 0, 1, -1, -1, 1, 2, -1, -1, 2, 3, -1, -1, 3, 4, -1, -1, 3, 4, -1, -1, 4, 5, -1,
                         -1, 5, 6, -1, -1);
    const __m256i shifts = _mm256_setr_epi32(0, 6, 4, 2, 0, 6, 4, 2);
    const __m256i mask = _mm256_set1_epi32(63);
    const auto codes_at = [&](const uint8_t* at) {
      const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(at));
      const __m256i pairs = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(bytes), starts);
      return _mm256_and_si256(_mm256_srlv_epi32(pairs, shifts), mask);
    };
    // Fourteen bytes are read and twelve used.
    for (; i + 20 <= count; i += 16) {
      const uint8_t* at = in + i / 4 * 3;
      const __m256i mixed = _mm256_packus_epi32(codes_at(at), codes_at(at + 6));
      Half<Type>::Store(_mm256_permute4x64_epi64(mixed, 0xd8), to + i);
    }
  }
  return i;
}

#endif

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

}  // namespace DLPACK_ISA
}  // namespace dlpack
