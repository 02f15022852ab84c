// Memory of others by its address: the CUDA Array Interface. Arguments and results are in the frame. JavaScript thread.
#include "context.h"
#include "imports.h"

namespace dlpack {
namespace cuda {

// Lays the storage in `handle` over foreign memory: `number` (zero or less) to `nbytes` bytes from `address` on, if
// that lies inside one allocation. Our current stream waits for the maker's in `stream` unless that is 0. Out: `kind`
// and `device` of the memory, start and size of the allocation in `values`; `flags`: 1 if all was done, 0 if the memory
// does not fit.
napi_value AdmitBinding(napi_env env, napi_callback_info info) {
  CudaContext* self = ContextOf(env, info);
  CudaFrame* frame = self->frame;
  Storage* storage = GetHeld(self->instance, frame->handle);
  Location location;
  frame->flags = 0;
  frame->status = storage == nullptr ? kInvalidHandle : FindLocation(frame->address, &location);
  if (frame->status != kSuccess) return nullptr;
  frame->kind = location.kind;
  frame->device = location.ordinal;
  frame->values[0] = location.start;
  frame->values[1] = location.size;
  if (location.kind == 0) return nullptr;
  // Pinned and managed memory belongs to no device; work on it is queued on the first one's stream.
  if (location.kind != kDLCUDA) frame->device = 0;
  const int64_t low = static_cast<int64_t>(frame->number);
  const int64_t high = static_cast<int64_t>(frame->nbytes);
  const uint64_t before = frame->address - location.start;
  uint64_t end;
  const bool fits = !__builtin_add_overflow(frame->address, static_cast<uint64_t>(high), &end) &&
                    (location.size == 0 || (static_cast<uint64_t>(-low) <= before && before <= location.size &&
                                            static_cast<uint64_t>(high) <= location.size - before));
  if (!fits) return nullptr;
  storage->data = reinterpret_cast<void*>(frame->address + static_cast<uint64_t>(low));
  storage->nbytes = static_cast<uint64_t>(high - low);
  frame->status = FollowMaker(storage, location.ordinal, frame->device, reinterpret_cast<StreamHandle>(frame->stream));
  frame->flags = frame->status == kSuccess;
  return nullptr;
}

// The storage in `handle` is memory of others, ready for what `stream` gets from now on: our current stream of the
// device waits for that one, and work of ours on others for the current one.
napi_value FollowBinding(napi_env env, napi_callback_info info) {
  CudaContext* self = ContextOf(env, info);
  CudaFrame* frame = self->frame;
  Storage* storage = GetHeld(self->instance, frame->handle);
  frame->status =
      storage == nullptr ? kInvalidHandle : FollowMaker(storage, frame->device, frame->device, StreamOf(frame));
  return nullptr;
}

}  // namespace cuda
}  // namespace dlpack
