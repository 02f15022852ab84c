// The rows of one instruction set, in the namespace DLPACK_ISA: loops over codecs that compilers turn into vector code.
// Files with hand-written rows (rows_avx2.h, rows_avx512.h, rows_neon.h) are included between codec.h and this file and
// define DLPACK_ROWS_BY_HAND.
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include "rows.h"

namespace dlpack::DLPACK_ISA {

#if defined(DLPACK_ROWS_BY_HAND)
#define DLPACK_TRY_BY_HAND(function) \
  const size_t done = function<Type, kStream>(static_cast<const uint8_t*>(in), static_cast<uint8_t*>(out), count)
#else
#define DLPACK_TRY_BY_HAND(function) const size_t done = 0
#endif

#if !defined(__x86_64__) || !defined(DLPACK_ROWS_BY_HAND)
template <class Type>
constexpr bool CanStreamToF32() {
  return false;
}
template <class Type>
constexpr bool CanStreamFromF32() {
  return false;
}
template <class Type>
constexpr bool CanStreamPacked() {
  return false;
}
#endif

template <class Type, bool kStream>
void ToF32(const void* in, void* out, size_t count) {
  typedef typename Type::Unit Unit;
  DLPACK_TRY_BY_HAND(ToF32ByHand);
  const Unit* __restrict from = static_cast<const Unit*>(in);
  float* __restrict to = static_cast<float*>(out);
  for (size_t i = done; i < count; ++i) to[i] = Type::F32(from[i]);
}

template <class Type, bool kStream>
void FromF32(const void* in, void* out, size_t count) {
  typedef typename Type::Unit Unit;
  DLPACK_TRY_BY_HAND(FromF32ByHand);
  const float* __restrict from = static_cast<const float*>(in);
  Unit* __restrict to = static_cast<Unit*>(out);
  for (size_t i = done; i < count; ++i) to[i] = Type::FromF32(from[i]);
}

template <class Type>
void FromF64(const void* in, void* out, size_t count) {
  const double* __restrict from = static_cast<const double*>(in);
  typename Type::Unit* __restrict to = static_cast<typename Type::Unit*>(out);
  for (size_t i = 0; i < count; ++i) to[i] = Type::FromF64(from[i]);
}

template <class Type>
void ToI64(const void* in, void* out, size_t count) {
  const typename Type::Unit* __restrict from = static_cast<const typename Type::Unit*>(in);
  int64_t* __restrict to = static_cast<int64_t*>(out);
  for (size_t i = 0; i < count; ++i) to[i] = Type::I64(from[i]);
}

template <class Type>
void FromI64(const void* in, void* out, size_t count) {
  const int64_t* __restrict from = static_cast<const int64_t*>(in);
  typename Type::Unit* __restrict to = static_cast<typename Type::Unit*>(out);
  for (size_t i = 0; i < count; ++i) to[i] = Type::FromI64(from[i]);
}

template <class Type>
void FromU64(const void* in, void* out, size_t count) {
  const uint64_t* __restrict from = static_cast<const uint64_t*>(in);
  typename Type::Unit* __restrict to = static_cast<typename Type::Unit*>(out);
  for (size_t i = 0; i < count; ++i) to[i] = Type::FromU64(from[i]);
}

// From packed elements that start on a byte.
template <class Type, int kBits, bool kStream>
void PackedToF32(const void* in, void* out, size_t count) {
  DLPACK_TRY_BY_HAND(PackedToF32ByHand);
  const uint8_t* __restrict from = static_cast<const uint8_t*>(in);
  float* __restrict to = static_cast<float*>(out);
  constexpr size_t kGroup = kBits == 6 ? 4 : 8 / kBits;
  constexpr size_t kGroupBytes = kGroup * kBits / 8;
  size_t i = done;
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

#if !defined(DLPACK_ROWS_TRANSPOSE)
DLPACK_INLINE void TransposeByHand(const uint8_t*, int64_t, uint8_t*, size_t, size_t, size_t, size_t* rows_done,
                                   size_t* columns_done) {
  *rows_done = *columns_done = 0;
}
#endif

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

template <class Type, bool kStream>
constexpr Row ToF32Row() {
  if constexpr (Type::kInF32 && (!kStream || CanStreamToF32<Type>())) return ToF32<Type, kStream>;
  return nullptr;
}
template <class Type>
constexpr Row ToI64Row() {
  if constexpr (Type::kInI64) return ToI64<Type>;
  return nullptr;
}
template <class Type, bool kStream>
constexpr Row FromF32Row() {
  if constexpr (!__is_same(Type, Float32) && (!kStream || CanStreamFromF32<Type>())) return FromF32<Type, kStream>;
  return nullptr;
}
template <class Type>
constexpr Row FromF64Row() {
  if constexpr (!__is_same(Type, Float64)) return FromF64<Type>;
  return nullptr;
}
template <class Type, int kBits, bool kStream>
constexpr Row PackedRow() {
  if constexpr (kBits < 8 && Type::kInF32 && (!kStream || CanStreamPacked<Type>()))
    return PackedToF32<Type, kBits, kStream>;
  return nullptr;
}

#define DLPACK_TO_F32(name, code, bits) ToF32Row<name, false>(),
#define DLPACK_TO_I64(name, code, bits) ToI64Row<name>(),
#define DLPACK_FROM_F32(name, code, bits) FromF32Row<name, false>(),
#define DLPACK_FROM_F64(name, code, bits) FromF64Row<name>(),
#define DLPACK_FROM_I64(name, code, bits) FromI64<name>,
#define DLPACK_FROM_U64(name, code, bits) FromU64<name>,
#define DLPACK_PACKED(name, code, bits) PackedRow<name, bits, false>(),
#define DLPACK_STREAM_TO_F32(name, code, bits) ToF32Row<name, true>(),
#define DLPACK_STREAM_FROM_F32(name, code, bits) FromF32Row<name, true>(),
#define DLPACK_STREAM_PACKED(name, code, bits) PackedRow<name, bits, true>(),

#define DLPACK_DEFINE_ROWS                                                                                      \
  {                                                                                                             \
    {DLPACK_ELEMENT_TYPES(DLPACK_TO_F32)}, {DLPACK_ELEMENT_TYPES(DLPACK_TO_I64)},                               \
        {DLPACK_ELEMENT_TYPES(DLPACK_FROM_F32)}, {DLPACK_ELEMENT_TYPES(DLPACK_FROM_F64)},                       \
        {DLPACK_ELEMENT_TYPES(DLPACK_FROM_I64)}, {DLPACK_ELEMENT_TYPES(DLPACK_FROM_U64)},                       \
        {DLPACK_ELEMENT_TYPES(DLPACK_PACKED)},                                                                  \
        {TransposeUnits<uint8_t>, TransposeUnits<uint16_t>, TransposeUnits4, TransposeUnits<uint64_t>,          \
         TransposeUnits<Unit16>},                                                                               \
        Stream, {DLPACK_ELEMENT_TYPES(DLPACK_STREAM_TO_F32)}, {DLPACK_ELEMENT_TYPES(DLPACK_STREAM_FROM_F32)}, { \
      DLPACK_ELEMENT_TYPES(DLPACK_STREAM_PACKED)                                                                \
    }                                                                                                           \
  }

}  // namespace dlpack::DLPACK_ISA
