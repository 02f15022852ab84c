// Casts on a device for JavaScript. JavaScript thread.
#include "../bindings.h"
#include "cast.h"
#include "context.h"
#include "uses.h"

namespace dlpack::cuda {

// The first byte of `nbytes` at an offset of a storage; NULL when they do not lie inside.
static char* PartOf(const Storage* storage, double offset, uint64_t nbytes) {
  if (storage == nullptr || !IsSize(offset) || nbytes > storage->nbytes) return nullptr;
  const uint64_t start = static_cast<uint64_t>(offset);
  return start <= storage->nbytes - nbytes ? static_cast<char*>(storage->data) + start : nullptr;
}

static bool ReadRequest(const CastStep* step, const Storage* source, const Storage* target, CastRequest* request) {
  if (step->from_type >= kCastTypes || step->to_type >= kCastTypes || !IsSize(step->count) || step->count < 1)
    return false;
  request->from = static_cast<CastType>(step->from_type);
  request->to = static_cast<CastType>(step->to_type);
  request->count = static_cast<uint64_t>(step->count);
  request->target_bytes = request->from == kByte ? step->target_bytes : BytesOf(request->to);
  if (request->target_bytes > 4 || request->count > UINT64_MAX / 4) return false;
  request->source = PartOf(source, step->from_offset, request->count * BytesOf(request->from));
  request->target = PartOf(target, step->to_offset, request->count * request->target_bytes);
  request->format = {static_cast<int>(step->shift & 31), step->normal, step->last, step->nan, step->is_fnuz,
                     static_cast<float>(step->scale),    step->limit};
  request->table = step->table;
  return request->source != nullptr && request->target != nullptr;
}

// Queues a cast between contiguous elements of two storages on one device.
static void CastBinding(CudaContext* self, CastStep* step) {
  Device* device = DeviceOf(step);
  if (device == nullptr) return;
  Storage* sides[] = {GetHeld(self->instance, step->from_handle), GetHeld(self->instance, step->to_handle)};
  CastRequest request;
  if (!ReadRequest(step, sides[0], sides[1], &request)) {
    step->status = kInvalidValue;
    return;
  }
  const StreamRef stream = {device, StreamOf(step)};
  step->status = UseOnStream(stream, {sides[0], sides[1]}, [&] { return QueueCast(device, request, stream.handle); });
}

const NamedFunction kCastFunctions[] = {{"cast", Binding<CastBinding>::Call}, {}};

}  // namespace dlpack::cuda
