// Rows: loops over elements side by side, one set for each instruction set. Elements below a byte are in a byte each,
// except where a row says packed. Any thread; nothing here allocates or calls out.
#ifndef DLPACK_NODE_CONVERT_ROWS_H_
#define DLPACK_NODE_CONVERT_ROWS_H_

#include <stddef.h>

#include "element_type.h"

namespace dlpack {

typedef void (*Row)(const void* in, void* out, size_t count);

// Writes a tile of rows as columns: out[i * out_stride + j] = element i of row j. Strides of `in` are bytes, of `out`
// elements.
typedef void (*Transpose)(const uint8_t* in, int64_t row_bytes, uint8_t* out, size_t out_stride, size_t rows,
                          size_t columns);

// A cast goes through the one of float, double and int64 that holds every value of the source; NULL where it does not.
struct Rows {
  Row to_f32[kElementTypes];
  Row to_i64[kElementTypes];
  Row from_f32[kElementTypes];
  Row from_f64[kElementTypes];
  Row from_i64[kElementTypes];
  Row from_u64[kElementTypes];
  Row packed_to_f32[kElementTypes];
  Transpose transpose[5];  // by log2 of the size of an element
  // As memcpy, past the caches: for more bytes than they hold.
  Row stream;
  // The same casts past the caches, into memory that starts on a cache line; NULL where a cast and `stream` have to do.
  Row stream_to_f32[kElementTypes];
  Row stream_from_f32[kElementTypes];
  Row stream_packed_to_f32[kElementTypes];
};

extern const Rows kPortableRows;
#if defined(__x86_64__)
extern const Rows kAvx2Rows;
extern const Rows kAvx512Rows;
#endif

// The best set for this processor; DLPACK_CPU=portable or avx2 asks for less, anything else for no less.
const Rows& BestRows();

}  // namespace dlpack

#endif  // DLPACK_NODE_CONVERT_ROWS_H_
