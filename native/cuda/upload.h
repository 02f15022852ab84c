// Uploads plain host memory, such as a mapped file, through pinned blocks. Several threads fill them, and each thread
// fills one block while the device reads its other block.
#pragma once

#include <stddef.h>

#include "../storage.h"
#include "device.h"

namespace dlpack::cuda {

// Bytes of the source that go to one place on the device.
struct UploadPart {
  uint64_t offset;  // from the start of the source
  uint64_t nbytes;
  char* target;
  Storage* storage;  // of the target
};

struct UploadRequest {
  Device* device;
  StreamHandle stream;
  const char* source;
  uint64_t nbytes;
  const UploadPart* parts;  // ordered by their offsets, without overlaps, inside the source
  size_t part_count;
  int32_t threads;  // how many may fill blocks
};

// Queues the copies of all parts behind the work that the stream has now, and makes the stream wait for them. Returns
// when the source has been read. After a failure no copy is left that uses the pinned memory. Any thread.
Result Upload(const UploadRequest& request);

}  // namespace dlpack::cuda
