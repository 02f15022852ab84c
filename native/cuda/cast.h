// Casts on a device, between contiguous elements.
#pragma once

#include "cast_plan.h"
#include "device.h"

namespace dlpack::cuda {

// Types that kernels know. kByte is a source of one byte of any type, or a target of a float8 type.
enum CastType : uint32_t { kByte, kHalf, kBrain, kSingle, kCastTypes };

struct CastRequest {
  const char* source;
  char* target;
  uint64_t count;
  CastType from;
  CastType to;            // from kByte: ignored
  uint32_t target_bytes;  // of an element
  ByteFormat format;      // for kByte as target
  const uint32_t* table;  // for kByte as source: the 256 results
};

inline uint32_t BytesOf(CastType type) { return type == kByte ? 1 : type == kSingle ? 4 : 2; }

// Queues the cast. kNotSupported, with nothing queued, when there is no such kernel. The device's context is current.
Result QueueCast(Device* device, const CastRequest& request, StreamHandle stream);

}  // namespace dlpack::cuda
