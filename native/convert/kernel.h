// Kernel: the rows that turn elements of one type into elements of another, with an intermediate type where no row does
// both. Any thread.
#pragma once

#include "pass.h"

namespace dlpack {

struct Kernel {
  Row first;   // NULL: the source is the intermediate already
  Row second;  // NULL: the target is the intermediate
  Row packed;  // replaces `first` for packed memory
  Row stream;  // replaces both and bypasses the caches; NULL where there is no such row
  Row stream_packed;
  size_t from_size;
  size_t to_size;
  Scale scale;  // NULL, or scales the numbers before `second`
  Row widen;    // before `scale`: makes doubles of what `first` gave; NULL when it gave the right numbers
};

inline size_t UnitSize(int64_t bits) { return static_cast<size_t>(bits < 8 ? 1 : bits / 8); }

inline bool IsInteger(ElementType type) { return type <= kHandle; }

// Numbers are scaled as float32 where it holds every value of the source, and the result is not a float64.
inline bool FindScaling(ElementType from, ElementType to, const Rows& rows, Kernel* kernel) {
  if (from >= kElementTypes || to >= kElementTypes) return false;
  const bool is_float = from == kFloat32 || rows.to_f32[from] != nullptr;
  const bool is_single = is_float && to != kFloat64;
  if (is_float) {
    kernel->first = rows.to_f32[from];
    kernel->packed = rows.packed_to_f32[from];
    kernel->widen = is_single ? nullptr : rows.from_f32[kFloat64];
  } else if (from != kFloat64) {
    const bool is_unsigned = from == kUInt64 || from == kHandle;
    kernel->first = from == kInt64 || is_unsigned ? nullptr : rows.to_i64[from];
    kernel->widen = (is_unsigned ? rows.from_u64 : rows.from_i64)[kFloat64];
  }
  kernel->scale = is_single ? rows.scale_f32 : rows.scale_f64;
  kernel->second = (is_single ? rows.from_f32 : rows.from_f64)[to];  // NULL for the type of the numbers
  return true;
}

// The rows of a pass. False when there are none for its types.
inline bool FindKernel(const Pass& pass, const Rows& rows, Kernel* kernel) {
  const ElementType from = pass.from_type;
  const ElementType to = pass.to_type;
  *kernel = Kernel{nullptr, nullptr, nullptr, nullptr, nullptr, UnitSize(pass.from_bits), UnitSize(pass.to_bits),
                   nullptr, nullptr};
  if (pass.scale != nullptr) return FindScaling(from, to, rows, kernel);
  if (from == to && pass.from_bits == pass.to_bits) {
    return pass.from_bits <= 8 || pass.from_bits == 16 || pass.from_bits == 32 || pass.from_bits == 64 ||
           pass.from_bits == 128;
  }
  if (from >= kElementTypes || to >= kElementTypes) return false;
  if (from == kFloat64) {
    kernel->second = rows.from_f64[to];
    return true;
  }
  const bool wide = from == kInt32 || from == kInt64 || from == kUInt32 || from == kUInt64 || from == kHandle;
  if (wide || (IsInteger(from) && IsInteger(to))) {
    const bool is_unsigned = from == kUInt64 || from == kHandle;
    kernel->first = from == kInt64 || is_unsigned ? nullptr : rows.to_i64[from];
    kernel->second = (is_unsigned ? rows.from_u64 : rows.from_i64)[to];
    return true;
  }
  kernel->first = from == kFloat32 ? nullptr : rows.to_f32[from];
  kernel->packed = rows.packed_to_f32[from];
  kernel->second = to == kFloat32 ? nullptr : rows.from_f32[to];
  if (kernel->first == nullptr) kernel->stream = rows.stream_from_f32[to];
  if (kernel->second == nullptr) kernel->stream = rows.stream_to_f32[from];
  if (kernel->second == nullptr) kernel->stream_packed = rows.stream_packed_to_f32[from];
  return true;
}

}  // namespace dlpack
