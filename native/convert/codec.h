// Codecs: convert one element of each type from and to float, double and 64-bit integers, without branches, so that
// compilers vectorize loops over them. src/values/minifloat.ts and src/values/cast.ts have the same rules. Included
// once for each instruction set, in its own namespace: with the same names, the linker would keep the code of only one
// set.
#include <stdint.h>
#include <string.h>

#include "../dtype_table.h"

#define DLPACK_INLINE static inline __attribute__((always_inline))

namespace dlpack::DLPACK_ISA {

template <class To, class From>
DLPACK_INLINE To BitCast(From from) {
  static_assert(sizeof(To) == sizeof(From), "same size");
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

constexpr double PowerOfTwo(int exponent) {
  double value = 1;
  for (; exponent > 0; --exponent) value *= 2;
  for (; exponent < 0; ++exponent) value /= 2;
  return value;
}

static const uint32_t kNan32 = 0x7fc00000;
static const uint64_t kNan64 = 0x7ff8000000000000;

// The bit layout of a float type of the processor.
template <class Real>
struct Host;
template <>
struct Host<float> {
  typedef uint32_t Bits;
  typedef int32_t Signed;
  static constexpr int kMantissa = 23, kBias = 127;
};
template <>
struct Host<double> {
  typedef uint64_t Bits;
  typedef int64_t Signed;
  static constexpr int kMantissa = 52, kBias = 1023;
};

// A number that a format rounds once more. An integer is rounded to odd: the last bit of the double is set if any bits
// were cut off. The second rounding then gives the same result as rounding the integer once.
DLPACK_INLINE float RealOf(float value) { return value; }
DLPACK_INLINE double RealOf(double value) { return value; }
DLPACK_INLINE double RealOf(uint64_t magnitude) {
  const int cut = magnitude >> 53 == 0 ? 0 : 11 - __builtin_clzll(magnitude);
  const uint64_t kept = magnitude >> cut;
  const uint64_t odd = kept | ((kept << cut) != magnitude);
  return static_cast<double>(static_cast<int64_t>(odd)) * static_cast<double>(uint64_t{1} << cut);
}
DLPACK_INLINE double RealOf(int64_t value) {
  return value < 0 ? -RealOf(uint64_t{0} - static_cast<uint64_t>(value)) : RealOf(static_cast<uint64_t>(value));
}

enum Specials { kIeee, kFn, kFnuz, kNone };

template <int kE, int kM, int kFormatBias, Specials kSpecials, class UnitType = uint8_t>
struct Mini {
  typedef UnitType Unit;
  static constexpr bool kInF32 = true, kInI64 = false;
  static constexpr uint32_t kSign = 1u << (kE + kM);
  static constexpr uint32_t kTop = ((1u << kE) - 1) << kM;
  static constexpr uint32_t kMax = kSpecials == kIeee ? kTop - 1 : kSpecials == kFn ? kSign - 2 : kSign - 1;
  static constexpr uint32_t kNan = kSpecials == kIeee ? kTop + (1u << kM) / 2 : kSpecials == kFn ? kSign - 1 : kSign;

  // Runs at compile time, for tables.
  static constexpr float Decode(uint32_t bits) {
    const uint32_t code = bits & (kSign - 1);
    const bool negative = (bits & kSign) != 0;
    if (kSpecials == kFnuz && negative && code == 0) return __builtin_nanf("");
    if (code > kMax)
      return kSpecials == kIeee && code == kTop ? (negative ? -__builtin_inff() : __builtin_inff())
                                                : __builtin_nanf("");
    const int exponent = static_cast<int>(code >> kM);
    const uint32_t mantissa = code & ((1u << kM) - 1);
    const double magnitude = exponent == 0 ? mantissa * PowerOfTwo(1 - kFormatBias - kM)
                                           : (mantissa + (1u << kM)) * PowerOfTwo(exponent - kFormatBias - kM);
    return static_cast<float>(negative ? -magnitude : magnitude);
  }

  template <class Real>
  DLPACK_INLINE Unit Encode(Real value) {
    typedef typename Host<Real>::Bits Bits;
    typedef typename Host<Real>::Signed Signed;  // vector units compare signed integers
    constexpr int kMantissa = Host<Real>::kMantissa, kBias = Host<Real>::kBias, kShift = kMantissa - kM;
    constexpr Signed kInfinity = static_cast<Signed>(2 * kBias + 1) << kMantissa;
    const Bits bits = BitCast<Bits>(value);
    const Signed magnitude = static_cast<Signed>(bits & (~Bits{0} >> 1));
    const Signed sign = static_cast<Signed>(bits >> (sizeof(Bits) * 8 - 1)) << (kE + kM);
    // Adds half of the last kept bit, minus one when that bit is even, so that ties round to even.
    const Bits absolute = static_cast<Bits>(magnitude);
    const Bits rounded = absolute + ((Bits{1} << (kShift - 1)) - 1) + ((absolute >> kShift) & 1);
    Signed code = static_cast<Signed>(rounded >> kShift) - (static_cast<Signed>(kBias - kFormatBias) << kM);
    if (kBias != kFormatBias) {
      // Below the smallest normal number the processor rounds: this adds a number whose last bit has the value of the
      // format's last bit.
      constexpr int kPower = 1 - kFormatBias - kM + kMantissa;
      constexpr Signed kMagicBits = static_cast<Signed>(kPower + kBias) << kMantissa;
      const Signed sum = BitCast<Signed>(BitCast<Real>(magnitude) + static_cast<Real>(PowerOfTwo(kPower)));
      constexpr Signed kNormal = static_cast<Signed>(1 - kFormatBias + kBias) << kMantissa;
      code = magnitude < kNormal ? sum - kMagicBits : code;
    }
    constexpr Signed kMaxCode = kMax, kNanCode = kNan;
    constexpr Signed kLimit = kSpecials == kNone ? kMaxCode : kMaxCode + 1;
    Signed result = (code > kLimit ? kLimit : code) | sign;
    if (kSpecials == kFnuz) result = code > kMaxCode ? kNanCode : code == 0 ? 0 : result;
    return static_cast<Unit>(magnitude > kInfinity ? kNanCode : result);
  }

  template <class Number>
  DLPACK_INLINE Unit From(Number value) {
    return Encode(RealOf(value));
  }
};

template <class Format>
struct Table {
  float values[256];
  constexpr Table() : values() {
    for (uint32_t code = 0; code < 256; ++code) values[code] = Format::Decode(code & (2 * Format::kSign - 1));
  }
};

// Formats of a byte or less, decoded with a table.
template <int kE, int kM, int kBias, Specials kSpecials>
struct Small : Mini<kE, kM, kBias, kSpecials> {
  typedef Mini<kE, kM, kBias, kSpecials> Format;
  static constexpr Table<Format> kTable = Table<Format>();
  DLPACK_INLINE float F32(uint8_t code) { return kTable.values[code]; }
};

#define X(name, exponent, mantissa, bias, specials) typedef Small<exponent, mantissa, bias, specials> name;
DLPACK_SMALL_FLOATS(X)
#undef X

struct Float16 : Mini<5, 10, 15, kIeee, uint16_t> {
  DLPACK_INLINE float F32(uint16_t bits) {
    const uint32_t magnitude = bits & 0x7fffu;
    const uint32_t sign = (bits & 0x8000u) << 16;
    const float scaled = BitCast<float>(magnitude << 13) * static_cast<float>(PowerOfTwo(112));
    const uint32_t number = magnitude >= 0x7c00 ? 0x7f800000u : BitCast<uint32_t>(scaled);
    return BitCast<float>(magnitude > 0x7c00 ? kNan32 : number | sign);
  }
};

struct BFloat16 : Mini<8, 7, 127, kIeee, uint16_t> {
  DLPACK_INLINE float F32(uint16_t bits) {
    const uint32_t wide = static_cast<uint32_t>(bits) << 16;
    return BitCast<float>((bits & 0x7fffu) > 0x7f80 ? kNan32 : wide);
  }
};

// Powers of two and one NaN.
struct E8M0FNU {
  typedef uint8_t Unit;
  static constexpr bool kInF32 = true, kInI64 = false;
  DLPACK_INLINE float F32(uint8_t code) {
    const uint32_t bits = code == 0 ? 0x400000u : static_cast<uint32_t>(code) << 23;
    return BitCast<float>(code == 255 ? kNan32 : bits);
  }
  template <class Real>
  DLPACK_INLINE uint8_t Encode(Real value) {
    typedef typename Host<Real>::Bits Bits;
    typedef typename Host<Real>::Signed Signed;
    constexpr int kMantissa = Host<Real>::kMantissa;
    constexpr Signed kOffset = Host<Real>::kBias - 127;
    const Signed bits = BitCast<Signed>(value);
    // Ties round up. In float32 the lowest power, 2^-127, is a subnormal number.
    const Bits rounded = static_cast<Bits>(bits) + (Bits{1} << (kMantissa - 1));
    const Signed exponent = static_cast<Signed>(rounded >> kMantissa) - kOffset;
    constexpr Signed kOneAndHalf = (Signed{1} << (kMantissa - 1)) + (Signed{1} << (kMantissa - 2));
    const Signed low = sizeof(Real) == 4 && bits >= kOneAndHalf ? 1 : 0;
    Signed code = bits < (Signed{1} << kMantissa) ? low : exponent < 0 ? 0 : exponent;
    code = code > 255 ? 255 : code;
    return static_cast<uint8_t>(bits > 0 ? code : 255);
  }
  template <class Number>
  DLPACK_INLINE uint8_t From(Number value) {
    return Encode(RealOf(value));
  }
};

struct Float32 {
  typedef uint32_t Unit;
  static constexpr bool kInF32 = false, kInI64 = false;
  DLPACK_INLINE uint32_t From(double value) {
    return value != value ? kNan32 : BitCast<uint32_t>(static_cast<float>(value));
  }
  DLPACK_INLINE uint32_t From(int64_t value) { return BitCast<uint32_t>(static_cast<float>(value)); }
  DLPACK_INLINE uint32_t From(uint64_t value) { return From(RealOf(value)); }
};

struct Float64 {
  typedef uint64_t Unit;
  static constexpr bool kInF32 = false, kInI64 = false;
  template <class Number>
  DLPACK_INLINE uint64_t From(Number value) {
    return value != value ? kNan64 : BitCast<uint64_t>(static_cast<double>(value));
  }
};

struct Bool {
  typedef uint8_t Unit;
  static constexpr bool kInF32 = true, kInI64 = true;
  DLPACK_INLINE float F32(uint8_t value) { return value != 0 ? 1.0f : 0.0f; }
  DLPACK_INLINE int64_t I64(uint8_t value) { return value != 0; }
  template <class Number>
  DLPACK_INLINE uint8_t From(Number value) {
    return !(value == 0);
  }
};

// Casts between integers wrap around. Floats are truncated towards zero and clamped to the range; NaN becomes zero.
template <int kBits, bool kSigned, class UnitType, class Signed>
struct Integer {
  typedef UnitType Unit;
  static constexpr bool kInF32 = kBits <= 16, kInI64 = true;
  static constexpr int kUnused = static_cast<int>(sizeof(UnitType)) * 8 - kBits;
  static constexpr uint64_t kMask = ~uint64_t{0} >> (64 - kBits);
  static constexpr uint64_t kHigh = kSigned ? kMask >> 1 : kMask;

  DLPACK_INLINE int64_t I64(Unit value) {
    const Unit shifted = static_cast<Unit>(value << kUnused);
    return kSigned ? static_cast<int64_t>(static_cast<Signed>(shifted) >> kUnused)
                   : static_cast<int64_t>(static_cast<Unit>(shifted >> kUnused));
  }
  DLPACK_INLINE float F32(Unit value) { return static_cast<float>(static_cast<int32_t>(I64(value))); }
  DLPACK_INLINE Unit From(int64_t value) { return static_cast<Unit>(static_cast<uint64_t>(value) & kMask); }
  DLPACK_INLINE Unit From(uint64_t value) { return static_cast<Unit>(value & kMask); }

  template <class Real>
  DLPACK_INLINE Unit From(Real value) {
    constexpr Real kLow = kSigned ? -static_cast<Real>(PowerOfTwo(kBits - 1)) : 0;
    constexpr Real kLimit = static_cast<Real>(PowerOfTwo(kSigned ? kBits - 1 : kBits));
    if (kBits <= 16 || (kBits < 32 && sizeof(Real) == 8)) {
      const Real number = value == value ? value : 0;
      const Real low = number < kLow ? kLow : number;
      const Real held = low > kLimit - 1 ? kLimit - 1 : low;
      return static_cast<Unit>(static_cast<uint32_t>(static_cast<int32_t>(held)) & static_cast<uint32_t>(kMask));
    }
    if (!(value > kLow)) return value == value ? static_cast<Unit>(kSigned ? kHigh + 1 : 0) : Unit{0};
    if (value >= kLimit) return static_cast<Unit>(kHigh);
    return kSigned ? static_cast<Unit>(static_cast<Signed>(value)) : static_cast<Unit>(value);
  }
};

typedef Integer<1, true, uint8_t, int8_t> Int1;
typedef Integer<2, true, uint8_t, int8_t> Int2;
typedef Integer<4, true, uint8_t, int8_t> Int4;
typedef Integer<8, true, uint8_t, int8_t> Int8;
typedef Integer<16, true, uint16_t, int16_t> Int16;
typedef Integer<32, true, uint32_t, int32_t> Int32;
typedef Integer<64, true, uint64_t, int64_t> Int64;
typedef Integer<1, false, uint8_t, int8_t> UInt1;
typedef Integer<2, false, uint8_t, int8_t> UInt2;
typedef Integer<4, false, uint8_t, int8_t> UInt4;
typedef Integer<8, false, uint8_t, int8_t> UInt8;
typedef Integer<16, false, uint16_t, int16_t> UInt16;
typedef Integer<32, false, uint32_t, int32_t> UInt32;
typedef Integer<64, false, uint64_t, int64_t> UInt64;
typedef UInt64 Handle;

}  // namespace dlpack::DLPACK_ISA
