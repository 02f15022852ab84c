// Rows: loops over contiguous elements, one set for each instruction set. Elements narrower than a byte take a byte
// each, except in rows named packed. Any thread; nothing here allocates or calls other code.
#pragma once

#include <stddef.h>

#include "../hidden.h"
#include "element_type.h"

namespace dlpack {

typedef void (*Row)(const void* in, void* out, size_t count);

// Writes a tile of rows as columns: out[i * out_stride + j] = element i of row j. Strides of `in` are in bytes, those
// of `out` in elements.
typedef void (*Transpose)(const uint8_t* in, int64_t row_bytes, uint8_t* out, size_t out_stride, size_t rows,
                          size_t columns);

// out = in * scale + offset, with two roundings. `is_each`: each element has a scale and an offset of its own;
// otherwise the first ones are those of all elements. A NaN is the positive quiet one.
typedef void (*Scale)(const void* in, void* out, const double* scale, const double* offset, bool is_each, size_t count);

// A cast goes through float, double or int64, whichever holds every value of the source. A `to_` row is NULL for a
// source whose values do not fit.
struct Rows {
  Row to_f32[kElementTypes];
  Row to_i64[kElementTypes];
  Row from_f32[kElementTypes];
  Row from_f64[kElementTypes];
  Row from_i64[kElementTypes];
  Row from_u64[kElementTypes];
  Row packed_to_f32[kElementTypes];
  Transpose transpose[5];  // by log2 of the size of an element
  Scale scale_f32;
  Scale scale_f64;
  // As memcpy, but bypasses the caches, for more bytes than they hold.
  Row stream;
  // The same casts, bypassing the caches, into memory that starts on a cache line; NULL where a cast followed by
  // `stream` is used instead.
  Row stream_to_f32[kElementTypes];
  Row stream_from_f32[kElementTypes];
  Row stream_packed_to_f32[kElementTypes];
};

DLPACK_HIDDEN extern const Rows kPortableRows;
#if defined(__x86_64__)
DLPACK_HIDDEN extern const Rows kAvx2Rows;
DLPACK_HIDDEN extern const Rows kAvx512Rows;
#endif

// The best set for this processor. DLPACK_CPU=portable or avx2 selects a smaller set; other values are ignored.
const Rows& BestRows();

}  // namespace dlpack
