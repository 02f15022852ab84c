// Rows with AVX2 instructions that compilers do not find. Each returns how many elements it converted; the loop after
// it converts the others. If kStream is true, the target starts on a cache line and stores bypass the caches.
namespace dlpack::DLPACK_ISA {

#define DLPACK_MM(name) _mm256_##name
typedef __m256 Floats;
typedef __m256i Ints;
DLPACK_INLINE Ints BitsOf(Floats values) { return _mm256_castps_si256(values); }
DLPACK_INLINE Floats FloatsOf(Ints bits) { return _mm256_castsi256_ps(bits); }
DLPACK_INLINE Ints And(Ints a, Ints b) { return _mm256_and_si256(a, b); }
DLPACK_INLINE Ints Or(Ints a, Ints b) { return _mm256_or_si256(a, b); }
DLPACK_INLINE Ints OrUnlessZero(Ints code, Ints sign) {
  return Or(code, _mm256_andnot_si256(_mm256_cmpeq_epi32(code, _mm256_setzero_si256()), sign));
}
DLPACK_INLINE Ints ReplaceNan(Floats value, Ints number, Ints nan) {
  return _mm256_blendv_epi8(number, nan, BitsOf(_mm256_cmp_ps(value, value, _CMP_UNORD_Q)));
}

// Clears the sign and the payload of a NaN.
DLPACK_INLINE Floats CleanNan(Floats value) {
  const Floats nan = FloatsOf(_mm256_set1_epi32(static_cast<int>(kNan32)));
  return _mm256_blendv_ps(value, nan, _mm256_cmp_ps(value, value, _CMP_UNORD_Q));
}

}  // namespace dlpack::DLPACK_ISA

#include "rows_x86.h"

namespace dlpack::DLPACK_ISA {

template <bool kStream>
DLPACK_INLINE void StoreBytes(uint8_t* to, __m256i bytes) {
  if (kStream)
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to), bytes);
  else
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), bytes);
}

template <bool kStream>
DLPACK_INLINE void StoreEight(float* to, __m256 values) {
  StoreBytes<kStream>(reinterpret_cast<uint8_t*>(to), _mm256_castps_si256(values));
}

// Sixteen codes, each in sixteen bits.
template <int kE, int kM, int kBias, Specials kSpecials>
DLPACK_INLINE __m256i HalvesOf(Small<kE, kM, kBias, kSpecials>, __m256i codes) {
  typedef Small<kE, kM, kBias, kSpecials> Type;
  const __m256i half = Half<Type>::Numbers(codes);
  if constexpr (kSpecials == kNone) return half;
  const __m256i nan = _mm256_set1_epi16(0x7e00);
  if constexpr (kSpecials == kFnuz) {
    return _mm256_blendv_epi8(half, nan, _mm256_cmpeq_epi16(codes, _mm256_set1_epi16(Type::kNan)));
  }
  const __m256i magnitude = _mm256_and_si256(codes, _mm256_set1_epi16(Type::kSign - 1));
  const __m256i last = _mm256_set1_epi16(kSpecials == kIeee ? Type::kTop : Type::kMax);
  const __m256i number = _mm256_blendv_epi8(half, nan, _mm256_cmpgt_epi16(magnitude, last));
  if constexpr (kSpecials == kFn || kE == 5) return number;
  const __m256i infinity = _mm256_or_si256(half, _mm256_set1_epi16(0x7c00));
  return _mm256_blendv_epi8(number, infinity, _mm256_cmpeq_epi16(magnitude, _mm256_set1_epi16(Type::kTop)));
}

template <class Type, bool kStream>
DLPACK_INLINE void StoreHalves(__m256i codes, float* to) {
  const __m256i half = HalvesOf(Type(), codes);
  const __m256 scale = _mm256_set1_ps(Half<Type>::kScale);
  StoreEight<kStream>(to, _mm256_mul_ps(_mm256_cvtph_ps(_mm256_castsi256_si128(half)), scale));
  StoreEight<kStream>(to + 8, _mm256_mul_ps(_mm256_cvtph_ps(_mm256_extracti128_si256(half, 1)), scale));
}

// Elements of four bits in the highest bits of their lanes.
template <class Type>
DLPACK_INLINE __m256 FromHighest(__m256i high) {
  if constexpr (__is_same(Type, E2M1FN)) {
    const __m256 magnitudes = _mm256_loadu_ps(Type::kTable.values);
    const __m256 value = _mm256_permutevar8x32_ps(magnitudes, _mm256_srli_epi32(high, 28));
    const __m256i sign = _mm256_and_si256(high, _mm256_set1_epi32(INT32_MIN));
    return _mm256_or_ps(value, _mm256_castsi256_ps(sign));
  } else {
    return _mm256_cvtepi32_ps(__is_same(Type, Int4) ? _mm256_srai_epi32(high, 28) : _mm256_srli_epi32(high, 28));
  }
}

template <class Type, bool kStream>
DLPACK_INLINE size_t ToF32ByHand(const uint8_t* in, uint8_t* out, size_t count) {
  float* to = reinterpret_cast<float*>(out);
  size_t i = 0;
  if constexpr (__is_same(Type, Float16)) {
    for (; i + 8 <= count; i += 8) StoreEight<kStream>(to + i, CleanNan(_mm256_cvtph_ps(LoadBytes(in + i * 2))));
  } else if constexpr (__is_same(Type, BFloat16)) {
    for (; i + 8 <= count; i += 8) {
      const __m256i wide = _mm256_slli_epi32(_mm256_cvtepu16_epi32(LoadBytes(in + i * 2)), 16);
      StoreEight<kStream>(to + i, CleanNan(_mm256_castsi256_ps(wide)));
    }
  } else if constexpr (kIsFourBits<Type>) {
    for (; i + 8 <= count; i += 8) {
      const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(in + i));
      StoreEight<kStream>(to + i, FromHighest<Type>(_mm256_slli_epi32(_mm256_cvtepu8_epi32(bytes), 28)));
    }
  } else if constexpr (Half<Type>::kPossible) {
    for (; i + 16 <= count; i += 16) {
      StoreHalves<Type, kStream>(_mm256_cvtepu8_epi16(LoadBytes(in + i)), to + i);
    }
  }
  return i;
}

template <class Type, bool kStream>
DLPACK_INLINE size_t PackedToF32ByHand(const uint8_t* in, uint8_t* out, size_t count) {
  float* to = reinterpret_cast<float*>(out);
  size_t i = 0;
  if constexpr (kIsFourBits<Type>) {
    const __m256i shifts = _mm256_setr_epi32(28, 24, 20, 16, 12, 8, 4, 0);
    for (; i + 8 <= count; i += 8) {
      uint32_t word;
      memcpy(&word, in + i / 2, 4);
      StoreEight<kStream>(to + i,
                          FromHighest<Type>(_mm256_sllv_epi32(_mm256_set1_epi32(static_cast<int>(word)), shifts)));
    }
  } else if constexpr (kIsSixBits<Type>) {
    // Eight elements lie in six bytes, and each is gathered from two bytes. Eight bytes are read at a time: for the
    // first eight elements their six bytes and two after them, for the second eight their six bytes and two before
    // them.
    const __m256i first = _mm256_setr_epi8(0, 1, -1, -1, 0, 1, -1, -1, 1, 2, -1, -1, 2, 3, -1, -1, 3, 4, -1, -1, 3, 4,
                                           -1, -1, 4, 5, -1, -1, 5, 6, -1, -1);
    const __m256i second = _mm256_add_epi8(first, _mm256_set1_epi32(0x0202));
    const __m256i shifts = _mm256_setr_epi32(0, 6, 4, 2, 0, 6, 4, 2);
    const __m256i mask = _mm256_set1_epi32(63);
    const auto codes_at = [&](const uint8_t* at, __m256i places) {
      const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(at));
      const __m256i pairs = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(bytes), places);
      return _mm256_and_si256(_mm256_srlv_epi32(pairs, shifts), mask);
    };
    for (; i + 16 <= count; i += 16) {
      const uint8_t* at = in + i / 4 * 3;
      const __m256i mixed = _mm256_packus_epi32(codes_at(at, first), codes_at(at + 4, second));
      StoreHalves<Type, kStream>(_mm256_permute4x64_epi64(mixed, 0xd8), to + i);
    }
  }
  return i;
}

template <class Type, bool kStream>
DLPACK_INLINE size_t FromF32ByHand(const uint8_t* in, uint8_t* out, size_t count) {
  const float* from = reinterpret_cast<const float*>(in);
  size_t i = 0;
  if constexpr (Half<Type>::kIsSmall) {
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    for (; i + 32 <= count; i += 32) {
      __m256i codes[4];
      for (size_t k = 0; k < 4; ++k) codes[k] = EncodeAll(Type(), _mm256_loadu_ps(from + i + k * 8));
      // Packing works in lanes of sixteen bytes and permutes groups of four elements.
      const __m256i mixed =
          _mm256_packus_epi16(_mm256_packus_epi32(codes[0], codes[1]), _mm256_packus_epi32(codes[2], codes[3]));
      StoreBytes<kStream>(out + i, _mm256_permutevar8x32_epi32(mixed, order));
    }
  } else if constexpr (__is_same(Type, Float16)) {
    for (; i + 16 <= count; i += 16) {
      StoreBytes<kStream>(out + i * 2, _mm256_set_m128i(EncodeHalf(from + i + 8), EncodeHalf(from + i)));
    }
  } else if constexpr (__is_same(Type, Int32)) {
    for (; i + 8 <= count; i += 8) {
      const __m256 value = _mm256_loadu_ps(from + i);
      // The instruction returns INT32_MIN for all values out of range and for NaN. Its complement is INT32_MAX.
      const __m256i above = _mm256_castps_si256(_mm256_cmp_ps(value, _mm256_set1_ps(2147483648.0f), _CMP_GE_OQ));
      const __m256i is_number = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_ORD_Q));
      const __m256i number = _mm256_xor_si256(_mm256_cvttps_epi32(value), above);
      StoreBytes<kStream>(out + i * 4, _mm256_and_si256(is_number, number));
    }
  } else if constexpr (__is_same(Type, BFloat16)) {
    for (; i + 16 <= count; i += 16) {
      const __m256i low = _mm256_srli_epi32(RoundUpperHalf(from + i), 16);
      const __m256i mixed = _mm256_packus_epi32(low, _mm256_srli_epi32(RoundUpperHalf(from + i + 8), 16));
      StoreBytes<kStream>(out + i * 2, _mm256_permute4x64_epi64(mixed, 0xd8));
    }
  }
  return i;
}

}  // namespace dlpack::DLPACK_ISA
