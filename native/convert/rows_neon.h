// Rows with NEON instructions that compilers do not find. Each returns how many elements it converted; the loop after
// it converts the others. Every 64-bit ARM processor has NEON, so nothing is chosen at run time.
#include <arm_neon.h>

#define DLPACK_ROWS_BY_HAND

namespace dlpack::DLPACK_ISA {

template <class Type>
struct Half {
  static constexpr bool kPossible = false;
};

// A value of a format with no more exponent bits than float16 is a shifted float16 times a power of two.
template <int kE, int kM, int kBias, Specials kSpecials>
struct Half<Small<kE, kM, kBias, kSpecials>> {
  typedef Mini<kE, kM, kBias, kSpecials> Format;
  static constexpr bool kPossible = kE < 5 || (kSpecials == kIeee && kBias == 15);
  static constexpr float kScale = static_cast<float>(PowerOfTwo(15 - kBias));

  DLPACK_INLINE uint16x8_t FromCodes(uint16x8_t codes) {
    const uint16x8_t magnitude = vandq_u16(codes, vdupq_n_u16(Format::kSign - 1));
    const uint16x8_t sign = vshlq_n_u16(vandq_u16(codes, vdupq_n_u16(Format::kSign)), 15 - kE - kM);
    const uint16x8_t half = vorrq_u16(vshlq_n_u16(magnitude, 10 - kM), sign);
    const uint16x8_t nan = vdupq_n_u16(0x7e00);
    if (kSpecials == kNone) return half;
    if (kSpecials == kFnuz) return vbslq_u16(vceqq_u16(codes, vdupq_n_u16(Format::kNan)), nan, half);
    const uint16x8_t last = vdupq_n_u16(kSpecials == kIeee ? Format::kTop : Format::kMax);
    const uint16x8_t number = vbslq_u16(vcgtq_u16(magnitude, last), nan, half);
    if (kSpecials == kFn || kE == 5) return number;
    const uint16x8_t infinity = vorrq_u16(sign, vdupq_n_u16(0x7c00));
    return vbslq_u16(vceqq_u16(magnitude, vdupq_n_u16(Format::kTop)), infinity, number);
  }

  DLPACK_INLINE void Store(uint8x8_t codes, float* to) {
    const float16x8_t half = vreinterpretq_f16_u16(FromCodes(vmovl_u8(codes)));
    vst1q_f32(to, vmulq_n_f32(vcvt_f32_f16(vget_low_f16(half)), kScale));
    vst1q_f32(to + 4, vmulq_n_f32(vcvt_f32_f16(vget_high_f16(half)), kScale));
  }
};

// Clears the sign and the payload of a NaN.
DLPACK_INLINE float32x4_t CleanNan(float32x4_t value) {
  return vbslq_f32(vceqq_f32(value, value), value, vreinterpretq_f32_u32(vdupq_n_u32(kNan32)));
}

template <class Type, bool>
DLPACK_INLINE size_t ToF32ByHand(const uint8_t* in, uint8_t* out, size_t count) {
  float* to = reinterpret_cast<float*>(out);
  size_t i = 0;
  if constexpr (__is_same(Type, Float16)) {
    for (; i + 4 <= count; i += 4) {
      const uint16x4_t bits = vld1_u16(reinterpret_cast<const uint16_t*>(in) + i);
      vst1q_f32(to + i, CleanNan(vcvt_f32_f16(vreinterpret_f16_u16(bits))));
    }
  } else if constexpr (Half<Type>::kPossible) {
    for (; i + 8 <= count; i += 8) Half<Type>::Store(vld1_u8(in + i), to + i);
  }
  return i;
}

template <class Type, bool>
DLPACK_INLINE size_t FromF32ByHand(const uint8_t* in, uint8_t* out, size_t count) {
  size_t i = 0;
  if constexpr (__is_same(Type, Float16)) {
    for (; i + 4 <= count; i += 4) {
      const float32x4_t wide = CleanNan(vld1q_f32(reinterpret_cast<const float*>(in) + i));
      vst1_u16(reinterpret_cast<uint16_t*>(out) + i, vreinterpret_u16_f16(vcvt_f16_f32(wide)));
    }
  }
  return i;
}

template <class Type, bool>
DLPACK_INLINE size_t PackedToF32ByHand(const uint8_t* in, uint8_t* out, size_t count) {
  float* to = reinterpret_cast<float*>(out);
  size_t i = 0;
  if constexpr (__is_same(Type, E2M1FN)) {
    for (; i + 16 <= count; i += 16) {
      const uint8x8_t bytes = vld1_u8(in + i / 2);
      const uint8x8x2_t codes = vzip_u8(vand_u8(bytes, vdup_n_u8(15)), vshr_n_u8(bytes, 4));
      Half<Type>::Store(codes.val[0], to + i);
      Half<Type>::Store(codes.val[1], to + i + 8);
    }
  } else if constexpr (__is_same(Type, Int4)) {
    for (; i + 16 <= count; i += 16) {
      const int8x8_t bytes = vreinterpret_s8_u8(vld1_u8(in + i / 2));
      const int8x8x2_t values = vzip_s8(vshr_n_s8(vshl_n_s8(bytes, 4), 4), vshr_n_s8(bytes, 4));
      for (int k = 0; k < 2; ++k) {
        const int16x8_t wide = vmovl_s8(values.val[k]);
        vst1q_f32(to + i + k * 8, vcvtq_f32_s32(vmovl_s16(vget_low_s16(wide))));
        vst1q_f32(to + i + k * 8 + 4, vcvtq_f32_s32(vmovl_s16(vget_high_s16(wide))));
      }
    }
  }
  return i;
}

}  // namespace dlpack::DLPACK_ISA
