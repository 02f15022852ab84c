// The exchange frame: one block of memory that JavaScript and C++ both see, so that a call carries a whole tensor
// without a Node-API value for each field. src/native/frame.ts is its twin. JavaScript thread only.
#ifndef DLPACK_NODE_FRAME_H_
#define DLPACK_NODE_FRAME_H_

#include <stddef.h>
#include <stdint.h>

namespace dlpack {

static const int32_t kMaxNdim = 64;

struct Frame {
  uint64_t address;
  int32_t status;
  uint32_t handle;
  double nbytes;
  double byte_offset;
  uint8_t dtype_code;
  uint8_t dtype_bits;
  uint16_t dtype_lanes;
  int32_t ndim;
  int32_t device_type;
  int32_t device_id;
  uint32_t flags;
  uint32_t version_major;
  uint32_t version_minor;
  uint32_t addressable;  // `address` is memory to which an offset may be added, not an opaque handle
  uint64_t ticket[2];
  double trace;            // number of the place an export is made at, 0 when nobody asked
  double shape[kMaxNdim];  // doubles hold every length that JavaScript can express
  double strides[kMaxNdim];
  uint32_t kind;   // number of what was described, see kind.h; 0: none, the frame has it all
  uint32_t known;  // number of the description that JavaScript remembers, 0: none; written by JavaScript
};

static_assert(offsetof(Frame, status) == 8 && offsetof(Frame, nbytes) == 16 && offsetof(Frame, dtype_code) == 32 &&
                  offsetof(Frame, ndim) == 36 && offsetof(Frame, device_type) == 40 && offsetof(Frame, flags) == 48 &&
                  offsetof(Frame, addressable) == 60 && offsetof(Frame, ticket) == 64 && offsetof(Frame, trace) == 80 &&
                  offsetof(Frame, shape) == 88 && offsetof(Frame, strides) == 600 && offsetof(Frame, kind) == 1112 &&
                  offsetof(Frame, known) == 1116 && sizeof(Frame) == 1120,
              "src/native/frame.ts has these offsets");

// A number of bytes that JavaScript can count; false for NaN, too.
inline bool IsSize(double nbytes) { return nbytes >= 0 && nbytes <= 9007199254740991.0; }

// Outcomes. src/native/status.ts turns each into a typed error.
enum Status : int32_t {
  kOk = 0,
  kNullManaged = 1,
  kVersion = 2,
  kNdim = 3,
  kNullShape = 4,
  kNegativeShape = 5,
  kTooLarge = 6,
  kNullData = 7,
  kMisaligned = 8,
  kDType = 9,
  kOutOfMemory = 10,
  kConsumed = 11,
  kNotExternal = 12,
  kNoExternalBuffers = 13,
  kUnknownTicket = 14,
  kNapi = 15,
};

}  // namespace dlpack

#endif  // DLPACK_NODE_FRAME_H_
