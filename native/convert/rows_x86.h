// Shared by the hand-written rows of AVX2 and AVX-512: the format of small floats, rounding, and transposing tiles. The
// file that includes this one defines Floats and Ints, its vectors, and DLPACK_MM, its instructions on them.
#define DLPACK_ROWS_BY_HAND
#define DLPACK_ROWS_X86

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

template <class Type>
constexpr bool kIsFourBits = __is_same(Type, Int4) || __is_same(Type, UInt4) || __is_same(Type, E2M1FN);
template <class Type>
constexpr bool kIsSixBits = __is_same(Type, E2M3FN) || __is_same(Type, E3M2FN);
template <class Type>
constexpr bool kIsTwoBytes = __is_same(Type, Float16) || __is_same(Type, BFloat16);

// The rows with a version that bypasses the caches.
template <class Type>
constexpr bool kStreamsToF32 = Half<Type>::kPossible || kIsTwoBytes<Type> || kIsFourBits<Type>;
template <class Type>
constexpr bool kStreamsPacked = kIsFourBits<Type> || kIsSixBits<Type>;
template <class Type>
constexpr bool kStreamsFromF32 = Half<Type>::kIsSmall || kIsTwoBytes<Type>;

DLPACK_INLINE __m128i LoadBytes(const uint8_t* at) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at)); }

DLPACK_INLINE Ints All(int32_t value) { return DLPACK_MM(set1_epi32)(value); }

// Encodes numbers as Mini::Encode does, but with one rounding for normal and subnormal numbers: it adds a number whose
// last bit has the value of the code's last bit.
template <int kE, int kM, int kBias, Specials kSpecials>
DLPACK_INLINE Ints EncodeAll(Small<kE, kM, kBias, kSpecials>, Floats value) {
  typedef Mini<kE, kM, kBias, kSpecials> Format;
  constexpr int kShift = 23 - kM;
  constexpr int32_t kNormal = (128 - kBias) << 23;
  // Larger values round to the code after the last number, which is infinity or NaN if the format has one.
  constexpr uint32_t kLastCode = kSpecials == kNone ? Format::kMax : Format::kMax + 1;
  constexpr int32_t kLast = static_cast<int32_t>(kLastCode << kShift) + ((127 - kBias) << 23);
  const Ints bits = BitsOf(kSpecials == kFn ? CleanNan(value) : value);
  const Ints magnitude = DLPACK_MM(min_epi32)(And(bits, All(INT32_MAX)), All(kLast));
  const Ints power = DLPACK_MM(max_epi32)(And(magnitude, All(0x7f800000)), All(kNormal));
  const Ints unit = DLPACK_MM(add_epi32)(power, All(kShift << 23));
  const Ints sum = BitsOf(DLPACK_MM(add_ps)(FloatsOf(magnitude), FloatsOf(unit)));
  const Ints exponent = DLPACK_MM(srli_epi32)(DLPACK_MM(sub_epi32)(power, All(kNormal)), kShift);
  const Ints code = DLPACK_MM(add_epi32)(DLPACK_MM(sub_epi32)(sum, unit), exponent);
  const Ints sign = And(DLPACK_MM(srli_epi32)(bits, 31 - kE - kM), All(Format::kSign));
  if (kSpecials == kFnuz) return OrUnlessZero(code, sign);
  const Ints number = Or(code, sign);
  return kSpecials == kFn ? number : ReplaceNan(value, number, All(Format::kNan));
}

// Rounds floats to their upper halves.
DLPACK_INLINE Ints RoundUpperHalf(const float* from) {
  const Ints bits = BitsOf(CleanNan(DLPACK_MM(loadu_ps)(from)));
  const Ints last = And(DLPACK_MM(srli_epi32)(bits, 16), All(1));
  return DLPACK_MM(add_epi32)(DLPACK_MM(add_epi32)(bits, All(0x7fff)), last);
}

DLPACK_INLINE auto EncodeHalf(const float* from) {
  return DLPACK_MM(cvtps_ph)(CleanNan(DLPACK_MM(loadu_ps)(from)), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

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
