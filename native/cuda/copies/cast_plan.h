// Casts as the kernels of cast_kernels.cu and scale_kernels.cu take them: one struct, by value, and how one number is
// converted. NVRTC compiles this file too, so it includes nothing. The fake driver of the tests runs the same functions
// on the host.
#pragma once

#if defined(__CUDACC_RTC__)
#define DLPACK_CAST __device__ inline
#else
#define DLPACK_CAST inline
#endif

namespace dlpack::cuda {

// How numbers become a format of eight bits: a sign, an exponent and a mantissa.
struct ByteFormat {
  int shift;         // 23 minus the bits of the mantissa
  unsigned normal;   // the smallest normal number, as float32
  unsigned last;     // the code after the largest number, as float32: infinity or NaN
  unsigned nan;      // the code of NaN
  unsigned is_fnuz;  // zero has no sign
  float scale;       // for sources of two bytes: a power of two that gives float32 the exponents of the format
  unsigned limit;    // the code after the largest number, shifted to where float32 has its exponent
};

// `count` elements, both sides contiguous. `is_wide`: both addresses are multiples of what a thread moves at once.
struct CastPlan {
  unsigned long long source;
  unsigned long long target;
  unsigned long long count;
  unsigned is_wide;
  ByteFormat format;
};

// A cast that multiplies each number and adds to it, for sources of more than one byte.
struct ScalePlan {
  CastPlan cast;
  float scale;
  float offset;
};

// Elements of one byte: `table` has the result for each of the 256 codes.
struct LookupPlan {
  unsigned long long source;
  unsigned long long target;
  unsigned long long count;
  unsigned is_wide;
  unsigned table[256];
};

// One block of a cast: threads, vectors of 16 bytes per thread, without and with a scale, whose kernels are larger; and
// for lookups how often the block goes on, because each block first fills its table.
enum { kCastThreads = 256, kCastVectors = 4, kScaleVectors = 1, kLookupRounds = 16 };

enum : unsigned { kMagnitude = 0x7fffffffu, kInfinity32 = 0x7f800000u, kNan32 = 0x7fc00000u };

DLPACK_CAST unsigned BitsOf(float value) {
#if defined(__CUDACC_RTC__)
  return __float_as_uint(value);
#else
  return __builtin_bit_cast(unsigned, value);
#endif
}

DLPACK_CAST float FloatOf(unsigned bits) {
#if defined(__CUDACC_RTC__)
  return __uint_as_float(bits);
#else
  return __builtin_bit_cast(float, bits);
#endif
}

// A magnitude of a source of two bytes, in float32 with the source's own exponents. After the multiplication its upper
// bits are the code, also below the smallest normal number, where float32 is subnormal too. No bits are lost that
// matter, because such a source has few. This takes fewer operations than F8::Encode.
template <bool kFnuz>
DLPACK_CAST unsigned char ScaleToByte(unsigned magnitude, unsigned sign, bool is_nan, const ByteFormat& format) {
  const unsigned scaled = BitsOf(FloatOf(magnitude) * format.scale);
  const unsigned held = scaled < format.limit ? scaled : format.limit;
  const unsigned half = (1u << (format.shift - 1)) - 1;
  const unsigned code = (held + half + (held >> format.shift & 1u)) >> format.shift;
  const unsigned number = kFnuz && code == 0 ? 0 : code | sign;
  return static_cast<unsigned char>(is_nan ? format.nan : number);
}

// The types by which kernels are named. Decode returns the bits of a float32, in which a NaN is kNan32 unless the
// source is a float32.
struct F32 {
  typedef unsigned int Unit;
  static DLPACK_CAST unsigned Decode(Unit bits) { return bits; }
  // Never from float32 as it is, so a NaN is kNan32 already.
  static DLPACK_CAST Unit Encode(unsigned bits, const ByteFormat&) { return bits; }
};

struct F16 {
  typedef unsigned short Unit;
  template <bool kFnuz>
  static DLPACK_CAST unsigned char ToByte(Unit half, const ByteFormat& format) {
    const unsigned magnitude = half & 0x7fffu;
    return ScaleToByte<kFnuz>(magnitude << 13, half >> 8 & 0x80u, magnitude > 0x7c00u, format);
  }
  static DLPACK_CAST unsigned Decode(Unit half) {
    const unsigned magnitude = half & 0x7fffu;
    const unsigned sign = (half & 0x8000u) << 16;
    // A product, because numbers below the smallest normal one need another exponent.
    const unsigned scaled = BitsOf(FloatOf(magnitude << 13) * 5192296858534827628530496329220096.0f);  // 2^112
    const unsigned number = magnitude >= 0x7c00u ? kInfinity32 : scaled;
    return magnitude > 0x7c00u ? kNan32 : number | sign;
  }
  static DLPACK_CAST Unit Encode(unsigned bits, const ByteFormat&) {
#if defined(__CUDACC_RTC__)
    unsigned short half;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(FloatOf(bits)));
    return (bits & kMagnitude) > kInfinity32 ? 0x7e00 : half;
#else
    const ByteFormat format = {13, 0x38800000u, 0x47800000u, 0x7e00u, 0, 1.0f, 0};
    const unsigned sign = bits >> 16 & 0x8000u;
    const unsigned code = EncodeMagnitude(bits & kMagnitude, format);
    return static_cast<Unit>((bits & kMagnitude) > kInfinity32 ? format.nan : code | sign);
#endif
  }
  // Rounds to the nearest number of the format, ties to even: a number is added whose last bit has the value of the
  // format's last bit at this size.
  static DLPACK_CAST unsigned EncodeMagnitude(unsigned given, const ByteFormat& format) {
    const unsigned magnitude = given < format.last ? given : format.last;
    const unsigned exponent = magnitude & kInfinity32;
    const unsigned power = exponent > format.normal ? exponent : format.normal;
    const unsigned unit = power + (static_cast<unsigned>(format.shift) << 23);
    const unsigned sum = BitsOf(FloatOf(magnitude) + FloatOf(unit));
    return sum - unit + ((power - format.normal) >> format.shift);
  }
};

struct BF16 {
  typedef unsigned short Unit;
  template <bool kFnuz>
  static DLPACK_CAST unsigned char ToByte(Unit bits, const ByteFormat& format) {
    const unsigned magnitude = bits & 0x7fffu;
    return ScaleToByte<kFnuz>(magnitude << 16, bits >> 8 & 0x80u, magnitude > 0x7f80u, format);
  }
  static DLPACK_CAST unsigned Decode(Unit bits) {
    return (bits & 0x7fffu) > 0x7f80u ? kNan32 : static_cast<unsigned>(bits) << 16;
  }
  static DLPACK_CAST Unit Encode(unsigned bits, const ByteFormat&) {
    const unsigned rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    return static_cast<Unit>((bits & kMagnitude) > kInfinity32 ? 0x7fc0u : rounded);
  }
};

// Any format of eight bits, which is a part of the plan.
struct F8 {
  typedef unsigned char Unit;
  static DLPACK_CAST Unit Encode(unsigned bits, const ByteFormat& format) {
    const unsigned magnitude = bits & kMagnitude;
    const unsigned code = F16::EncodeMagnitude(magnitude, format);
    const unsigned sign = bits >> 24 & 0x80u;
    const unsigned number = format.is_fnuz != 0 && code == 0 ? 0 : code | sign;
    return static_cast<Unit>(magnitude > kInfinity32 ? format.nan : number);
  }
};

// The product and the sum are each rounded to a float32, and a NaN is kNan32, as on the host.
DLPACK_CAST unsigned ScaleBits(unsigned bits, const ScalePlan& plan) {
#if defined(__CUDACC_RTC__)
  const float number = __fadd_rn(__fmul_rn(FloatOf(bits), plan.scale), plan.offset);  // never one multiply-add
#else
  const float product = FloatOf(bits) * plan.scale;
  const float number = product + plan.offset;
#endif
  return number == number ? BitsOf(number) : kNan32;
}

template <class From, class To>
DLPACK_CAST typename To::Unit ScaleTo(typename From::Unit unit, const ScalePlan& plan) {
  return To::Encode(ScaleBits(From::Decode(unit), plan), plan.cast.format);
}

}  // namespace dlpack::cuda
