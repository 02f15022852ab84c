// The rows of one instruction set, in the namespace DLPACK_ISA: loops over codecs that compilers turn into vector code.
// Files with hand-written rows (rows_avx2.h, rows_avx512.h, rows_neon.h) are included between codec.h and this file and
// define DLPACK_ROWS_BY_HAND, and DLPACK_ROWS_X86 for rows that stream and transpose.
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include "rows.h"

namespace dlpack::DLPACK_ISA {

#if defined(DLPACK_ROWS_BY_HAND)
#define DLPACK_BY_HAND(function) \
  function<Type, kStream>(static_cast<const uint8_t*>(in), static_cast<uint8_t*>(out), count)
#else
#define DLPACK_BY_HAND(function) 0
#endif

#if !defined(DLPACK_ROWS_X86)
template <class Type>
constexpr bool kStreamsToF32 = false;
template <class Type>
constexpr bool kStreamsFromF32 = false;
template <class Type>
constexpr bool kStreamsPacked = false;

DLPACK_INLINE void TransposeByHand(const uint8_t*, int64_t, uint8_t*, size_t, size_t, size_t, size_t* rows_done,
                                   size_t* columns_done) {
  *rows_done = *columns_done = 0;
}
#endif

template <class Type, bool kStream>
void ToF32(const void* in, void* out, size_t count) {
  size_t i = DLPACK_BY_HAND(ToF32ByHand);
  const typename Type::Unit* __restrict from = static_cast<const typename Type::Unit*>(in);
  float* __restrict to = static_cast<float*>(out);
  for (; i < count; ++i) to[i] = Type::F32(from[i]);
}

template <class Type>
void ToI64(const void* in, void* out, size_t count) {
  const typename Type::Unit* __restrict from = static_cast<const typename Type::Unit*>(in);
  int64_t* __restrict to = static_cast<int64_t*>(out);
  for (size_t i = 0; i < count; ++i) to[i] = Type::I64(from[i]);
}

template <class Type, class Number, bool kStream = false>
void From(const void* in, void* out, size_t count) {
  size_t i = 0;
  if constexpr (__is_same(Number, float)) i = DLPACK_BY_HAND(FromF32ByHand);
  const Number* __restrict from = static_cast<const Number*>(in);
  typename Type::Unit* __restrict to = static_cast<typename Type::Unit*>(out);
  for (; i < count; ++i) to[i] = Type::From(from[i]);
}

// From packed elements that start on a byte.
template <class Type, int kBits, bool kStream>
void PackedToF32(const void* in, void* out, size_t count) {
  const uint8_t* __restrict from = static_cast<const uint8_t*>(in);
  float* __restrict to = static_cast<float*>(out);
  constexpr size_t kGroup = kBits == 6 ? 4 : 8 / kBits;
  constexpr size_t kGroupBytes = kGroup * kBits / 8;
  size_t i = DLPACK_BY_HAND(PackedToF32ByHand);
  for (; i + kGroup <= count; i += kGroup) {
    const uint8_t* bytes = from + i / kGroup * kGroupBytes;
    uint32_t bits = bytes[0];
    if (kGroupBytes == 3) bits |= static_cast<uint32_t>(bytes[1]) << 8 | static_cast<uint32_t>(bytes[2]) << 16;
    for (size_t k = 0; k < kGroup; ++k) {
      to[i + k] = Type::F32(static_cast<uint8_t>(bits >> (k * kBits) & ((1 << kBits) - 1)));
    }
  }
  for (; i < count; ++i) {
    const uint8_t* bytes = from + i * kBits / 8;
    const int shift = static_cast<int>(i * kBits % 8);
    const uint32_t bits = bytes[0] | (shift + kBits > 8 ? static_cast<uint32_t>(bytes[1]) << 8 : 0);
    to[i] = Type::F32(static_cast<uint8_t>(bits >> shift & ((1 << kBits) - 1)));
  }
}

template <class Unit>
void TransposeUnits(const uint8_t* in, int64_t row_bytes, uint8_t* out, size_t out_stride, size_t rows,
                    size_t columns) {
  Unit* __restrict to = reinterpret_cast<Unit*>(out);
  for (size_t j = 0; j < rows; ++j) {
    const Unit* __restrict from = reinterpret_cast<const Unit*>(in + static_cast<int64_t>(j) * row_bytes);
    for (size_t i = 0; i < columns; ++i) to[i * out_stride + j] = from[i];
  }
}

struct Unit16 {
  uint64_t low, high;
};

static void TransposeUnits4(const uint8_t* in, int64_t row_bytes, uint8_t* out, size_t out_stride, size_t rows,
                            size_t columns) {
  size_t rows_done, columns_done;
  TransposeByHand(in, row_bytes, out, out_stride, rows, columns, &rows_done, &columns_done);
  // The remaining columns after the blocks, and the remaining rows below them.
  if (columns_done < columns) {
    TransposeUnits<uint32_t>(in + columns_done * 4, row_bytes, out + columns_done * out_stride * 4, out_stride,
                             rows_done, columns - columns_done);
  }
  TransposeUnits<uint32_t>(in + static_cast<int64_t>(rows_done) * row_bytes, row_bytes, out + rows_done * 4, out_stride,
                           rows - rows_done, columns);
}

static void Stream(const void* in, void* out, size_t count) {
#if defined(__x86_64__)
  const uint8_t* from = static_cast<const uint8_t*>(in);
  uint8_t* to = static_cast<uint8_t*>(out);
  const size_t unaligned = (0 - reinterpret_cast<uintptr_t>(to)) & 63;
  size_t i = unaligned < count ? unaligned : count;
  memcpy(to, from, i);
  for (; i + 64 <= count; i += 64) {
    const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i + 16));
    const __m128i c = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i + 32));
    const __m128i d = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i + 48));
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + i), a);
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + i + 16), b);
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + i + 32), c);
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + i + 48), d);
  }
  memcpy(to + i, from + i, count - i);
#else
  memcpy(out, in, count);
#endif
}

template <class Real>
void ScaleNumbers(const void* in, void* out, const double* scale, const double* offset, bool is_each, size_t count) {
  const Real* __restrict from = static_cast<const Real*>(in);
  Real* __restrict to = static_cast<Real*>(out);
  typedef typename Host<Real>::Bits Bits;
  const Real nan = BitCast<Real>(static_cast<Bits>(sizeof(Real) == 4 ? kNan32 : kNan64));
  if (is_each) {
    for (size_t i = 0; i < count; ++i) {
      const Real number = from[i] * static_cast<Real>(scale[i]) + static_cast<Real>(offset[i]);
      to[i] = number == number ? number : nan;
    }
    return;
  }
  const Real factor = static_cast<Real>(scale[0]), term = static_cast<Real>(offset[0]);
  for (size_t i = 0; i < count; ++i) {
    const Real number = from[i] * factor + term;
    to[i] = number == number ? number : nan;
  }
}

template <class Type, int kBits>
constexpr void AddType(ElementType type, Rows* rows) {
  if constexpr (Type::kInF32) {
    rows->to_f32[type] = ToF32<Type, false>;
    if constexpr (kStreamsToF32<Type>) rows->stream_to_f32[type] = ToF32<Type, true>;
    if constexpr (kBits < 8) rows->packed_to_f32[type] = PackedToF32<Type, kBits, false>;
    if constexpr (kBits < 8 && kStreamsPacked<Type>) rows->stream_packed_to_f32[type] = PackedToF32<Type, kBits, true>;
  }
  if constexpr (Type::kInI64) rows->to_i64[type] = ToI64<Type>;
  if constexpr (!__is_same(Type, Float32)) {
    rows->from_f32[type] = From<Type, float>;
    if constexpr (kStreamsFromF32<Type>) rows->stream_from_f32[type] = From<Type, float, true>;
  }
  if constexpr (!__is_same(Type, Float64)) rows->from_f64[type] = From<Type, double>;
  rows->from_i64[type] = From<Type, int64_t>;
  rows->from_u64[type] = From<Type, uint64_t>;
}

constexpr Rows MakeRows() {
  Rows rows = {};
  rows.transpose[0] = TransposeUnits<uint8_t>;
  rows.transpose[1] = TransposeUnits<uint16_t>;
  rows.transpose[2] = TransposeUnits4;
  rows.transpose[3] = TransposeUnits<uint64_t>;
  rows.transpose[4] = TransposeUnits<Unit16>;
  rows.scale_f32 = ScaleNumbers<float>;
  rows.scale_f64 = ScaleNumbers<double>;
  rows.stream = Stream;
#define X(name, code, bits) AddType<name, bits>(k##name, &rows);
  DLPACK_ELEMENT_TYPES(X)
#undef X
  return rows;
}

}  // namespace dlpack::DLPACK_ISA
