// Foreign memory by its address, for the CUDA Array Interface. JavaScript thread.
#include "context.h"
#include "imports.h"

namespace dlpack::cuda {

static void AdmitBinding(CudaContext* self, AdmitRequest* message) {
  message->is_admitted = 0;
  Storage* storage = StorageOf(self, message);
  if (storage == nullptr) return;
  Location location;
  message->status = FindLocation(message->address, &location);
  if (message->status != kSuccess) return;
  message->device_type = location.kind;
  message->range_start = location.start;
  message->range_size = location.size;
  if (location.kind == 0) return;
  // Pinned and managed memory belongs to no device. Work on it is queued on a stream of device 0.
  message->device_id = location.kind == kDLCUDA ? location.ordinal : 0;
  const int64_t low = static_cast<int64_t>(message->low);
  const int64_t high = static_cast<int64_t>(message->high);
  const uint64_t before = message->address - location.start;
  uint64_t end;
  const bool fits = !__builtin_add_overflow(message->address, static_cast<uint64_t>(high), &end) &&
                    (location.size == 0 || (static_cast<uint64_t>(-low) <= before && before <= location.size &&
                                            static_cast<uint64_t>(high) <= location.size - before));
  if (!fits) return;
  storage->data = reinterpret_cast<void*>(message->address + static_cast<uint64_t>(low));
  storage->nbytes = static_cast<uint64_t>(high - low);
  message->status =
      FollowProducer(storage, location.ordinal, message->device_id, reinterpret_cast<StreamHandle>(message->stream));
  message->is_admitted = message->status == kSuccess;
}

// For a storage of foreign memory that is ready for work queued on the stream from now on. Our current stream of the
// device waits for that stream, and our work on other streams waits for our current stream.
static void FollowBinding(CudaContext* self, StorageRequest* message) {
  Storage* storage = StorageOf(self, message);
  if (storage == nullptr) return;
  message->status = FollowProducer(storage, message->device, message->device, StreamOf(message));
}

const NamedFunction kArrayFunctions[] = {
    {"admit", Binding<AdmitBinding>::Call}, {"follow", Binding<FollowBinding>::Call}, {}};

}  // namespace dlpack::cuda
