// Rows with AVX-512 instructions that compilers do not find. Each returns how many elements it converted; the loop
// after it converts the others. If kStream is true, the target starts on a cache line and stores bypass the caches.
namespace dlpack::DLPACK_ISA {

#define DLPACK_MM(name) _mm512_##name
typedef __m512 Floats;
typedef __m512i Ints;
DLPACK_INLINE Ints BitsOf(Floats values) { return _mm512_castps_si512(values); }
DLPACK_INLINE Floats FloatsOf(Ints bits) { return _mm512_castsi512_ps(bits); }
DLPACK_INLINE Ints And(Ints a, Ints b) { return _mm512_and_si512(a, b); }
DLPACK_INLINE Ints Or(Ints a, Ints b) { return _mm512_or_si512(a, b); }
DLPACK_INLINE Ints OrUnlessZero(Ints code, Ints sign) {
  return _mm512_mask_or_epi32(code, _mm512_test_epi32_mask(code, code), code, sign);
}
DLPACK_INLINE Ints ReplaceNan(Floats value, Ints number, Ints nan) {
  return _mm512_mask_mov_epi32(number, _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q), nan);
}

// Clears the sign and the payload of a NaN: the instruction returns the first operand for NaN, else the second.
DLPACK_INLINE Floats CleanNan(Floats value) {
  const Floats nan = FloatsOf(_mm512_set1_epi32(static_cast<int>(kNan32)));
  return _mm512_fixupimm_ps(nan, value, _mm512_set1_epi32(0x11111100), 0);
}

}  // namespace dlpack::DLPACK_ISA

#include "rows_x86.h"

namespace dlpack::DLPACK_ISA {

template <bool kStream>
DLPACK_INLINE void StoreLine(void* to, __m512i line) {
  if (kStream)
    _mm512_stream_si512(static_cast<__m512i*>(to), line);
  else
    _mm512_storeu_si512(to, line);
}

template <bool kStream>
DLPACK_INLINE void StoreLine(void* to, __m512 line) {
  StoreLine<kStream>(to, _mm512_castps_si512(line));
}

// Sixteen codes of a byte each.
template <int kE, int kM, int kBias, Specials kSpecials>
DLPACK_INLINE __m512 Decode(Small<kE, kM, kBias, kSpecials>, __m128i codes) {
  typedef Small<kE, kM, kBias, kSpecials> Type;
  __m256i half = Half<Type>::Numbers(_mm256_cvtepu8_epi16(codes));
  const __m512 scale = _mm512_set1_ps(Half<Type>::kScale);
  if constexpr (kSpecials == kNone) return _mm512_mul_ps(_mm512_cvtph_ps(half), scale);
  const __m512 nan = _mm512_castsi512_ps(_mm512_set1_epi32(static_cast<int>(kNan32)));
  if constexpr (kSpecials == kFnuz) {
    const __mmask16 number = _mm_cmpneq_epi8_mask(codes, _mm_set1_epi8(static_cast<char>(Type::kNan)));
    return _mm512_mask_mul_ps(nan, number, _mm512_cvtph_ps(half), scale);
  }
  const __m128i magnitude = _mm_and_si128(codes, _mm_set1_epi8(Type::kSign - 1));
  if constexpr (kSpecials == kIeee && kE < 5) {
    const __mmask16 infinite = _mm_cmpeq_epi8_mask(magnitude, _mm_set1_epi8(Type::kTop));
    half = _mm256_mask_mov_epi16(half, infinite, _mm256_or_si256(half, _mm256_set1_epi16(0x7c00)));
  }
  const __m128i last = _mm_set1_epi8(kSpecials == kIeee ? Type::kTop : Type::kMax);
  const __mmask16 number = _mm_cmple_epi8_mask(magnitude, last);
  return _mm512_mask_mul_ps(nan, number, _mm512_cvtph_ps(half), scale);
}

// Looks up values of four bits by their codes; higher bits are ignored.
template <class Type>
DLPACK_INLINE __m512 LookUp4(__m512i codes) {
  float table[16];
  for (uint8_t code = 0; code < 16; ++code) table[code] = Type::F32(code);
  return _mm512_permutexvar_ps(codes, _mm512_loadu_ps(table));
}

// Floats of six bits: the magnitude comes from a table, the sign from the code; higher bits are ignored.
template <class Type>
DLPACK_INLINE __m512 LookUp6(__m512i codes) {
  const __m512 low = _mm512_loadu_ps(Type::kTable.values);
  const __m512 high = _mm512_loadu_ps(Type::kTable.values + 16);
  const __m512i magnitude = _mm512_castps_si512(_mm512_permutex2var_ps(low, codes, high));
  const __m512i sign = _mm512_and_si512(_mm512_slli_epi32(codes, 26), _mm512_set1_epi32(INT32_MIN));
  return _mm512_castsi512_ps(_mm512_or_si512(magnitude, sign));
}

// Sixteen elements, one in each unit of memory.
template <class Type>
DLPACK_INLINE __m512 LoadSixteen(const uint8_t* at) {
  if constexpr (kIsTwoBytes<Type>) {
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
    if constexpr (__is_same(Type, Float16)) return CleanNan(_mm512_cvtph_ps(bits));
    return CleanNan(_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16)));
  } else if constexpr (kIsFourBits<Type>) {
    return LookUp4<Type>(_mm512_cvtepu8_epi32(LoadBytes(at)));
  } else if constexpr (kIsSixBits<Type>) {
    return LookUp6<Type>(_mm512_cvtepu8_epi32(LoadBytes(at)));
  } else {
    return Decode(Type(), LoadBytes(at));
  }
}

template <class Type, bool kStream>
DLPACK_INLINE size_t ToF32ByHand(const uint8_t* in, uint8_t* out, size_t count) {
  size_t i = 0;
  if constexpr (kStreamsToF32<Type>) {
    for (; i + 16 <= count; i += 16) {
      StoreLine<kStream>(out + i * 4, LoadSixteen<Type>(in + i * sizeof(typename Type::Unit)));
    }
  }
  return i;
}

template <class Type, bool kStream>
DLPACK_INLINE size_t PackedToF32ByHand(const uint8_t* in, uint8_t* out, size_t count) {
  size_t i = 0;
  if constexpr (kIsFourBits<Type>) {
    const __m512i half = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
    const __m512i shifts = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28);
    for (; i + 16 <= count; i += 16) {
      const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(in + i / 2));
      const __m512i spread = _mm512_permutexvar_epi32(half, _mm512_castsi128_si512(bytes));
      StoreLine<kStream>(out + i * 4, LookUp4<Type>(_mm512_srlv_epi32(spread, shifts)));
    }
  } else if constexpr (kIsSixBits<Type>) {
    // Four elements lie in three bytes. Each lane of sixteen bytes gathers its own three bytes, two for each element.
    alignas(64) int8_t places[64];
    for (int k = 0; k < 64; ++k) {
      const int element = k / 4;
      places[k] = static_cast<int8_t>(k % 4 < 2 ? element * 6 / 8 + k % 4 : -1);
    }
    const __m512i starts = _mm512_load_si512(places);
    const __m512i shifts = _mm512_broadcast_i32x4(_mm_setr_epi32(0, 6, 4, 2));
    for (; i + 16 <= count; i += 16) {
      const __m128i bytes = _mm_maskz_loadu_epi8(0xfff, in + i / 4 * 3);
      const __m512i pairs = _mm512_shuffle_epi8(_mm512_broadcast_i32x4(bytes), starts);
      StoreLine<kStream>(out + i * 4, LookUp6<Type>(_mm512_srlv_epi32(pairs, shifts)));
    }
  }
  return i;
}

// Converts a cache line at a time, so that it can be streamed.
template <class Type, bool kStream>
DLPACK_INLINE size_t FromF32ByHand(const uint8_t* in, uint8_t* out, size_t count) {
  const float* from = reinterpret_cast<const float*>(in);
  size_t i = 0;
  if constexpr (Half<Type>::kIsSmall) {
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    for (; i + 64 <= count; i += 64) {
      __m512i codes[4];
      for (size_t k = 0; k < 4; ++k) codes[k] = EncodeAll(Type(), _mm512_loadu_ps(from + i + k * 16));
      // Packing works in lanes of sixteen bytes and permutes groups of four elements.
      const __m512i mixed =
          _mm512_packus_epi16(_mm512_packus_epi32(codes[0], codes[1]), _mm512_packus_epi32(codes[2], codes[3]));
      StoreLine<kStream>(out + i, _mm512_permutexvar_epi32(order, mixed));
    }
  } else if constexpr (__is_same(Type, Float16)) {
    for (; i + 32 <= count; i += 32) {
      const __m512i low = _mm512_castsi256_si512(EncodeHalf(from + i));
      StoreLine<kStream>(out + i * 2, _mm512_inserti64x4(low, EncodeHalf(from + i + 16), 1));
    }
  } else if constexpr (__is_same(Type, Int32)) {
    for (; i + 16 <= count; i += 16) {
      const __m512 value = _mm512_loadu_ps(from + i);
      // The instruction returns INT32_MIN for all values out of range and for NaN.
      const __m512i number = _mm512_mask_mov_epi32(_mm512_cvttps_epi32(value),
                                                   _mm512_cmp_ps_mask(value, _mm512_set1_ps(2147483648.0f), _CMP_GE_OQ),
                                                   _mm512_set1_epi32(INT32_MAX));
      const __mmask16 is_number = _mm512_cmp_ps_mask(value, value, _CMP_ORD_Q);
      StoreLine<kStream>(out + i * 4, _mm512_maskz_mov_epi32(is_number, number));
    }
  } else if constexpr (__is_same(Type, BFloat16)) {
    alignas(64) uint16_t upper[32];
    for (uint16_t k = 0; k < 32; ++k) upper[k] = static_cast<uint16_t>(2 * k + 1);
    const __m512i halves = _mm512_load_si512(upper);
    for (; i + 32 <= count; i += 32) {
      const __m512i both = _mm512_permutex2var_epi16(RoundUpperHalf(from + i), halves, RoundUpperHalf(from + i + 16));
      StoreLine<kStream>(out + i * 2, both);
    }
  }
  return i;
}

}  // namespace dlpack::DLPACK_ISA
