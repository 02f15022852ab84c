#include "imports.h"

namespace dlpack::cuda {

Result FindLocation(Address address, Location* location) {
  *location = Location{};
  MemoryType type = MemoryType{};
  uint32_t is_managed = 0;
  PointerAttribute attributes[] = {kPointerMemoryType, kPointerIsManaged, kPointerDeviceOrdinal, kPointerRangeStart,
                                   kPointerRangeSize};
  void* values[] = {&type, &is_managed, &location->ordinal, &location->start, &location->size};
  Result result = driver.PointerGetAttributes(5, attributes, values, address);
  if (result == kInvalidContext) {
    // Older drivers need a current context of any device.
    const Device* any = GetDevice(0, &result);
    if (any == nullptr) return result;
    ContextScope scope(any);
    result = driver.PointerGetAttributes(5, attributes, values, address);
  }
  // For an unknown address older drivers return an error, and newer drivers return type 0.
  if (result == kInvalidValue || (result == kSuccess && type == 0)) return kSuccess;
  location->kind = is_managed ? kDLCUDAManaged : type == kMemoryHost ? kDLCUDAHost : kDLCUDA;
  return result;
}

Result FollowProducer(Storage* storage, int32_t producer, int32_t consumer, StreamHandle stream) {
  Result result;
  const Device* device = GetDevice(consumer, &result);
  const Device* other = device == nullptr || producer == consumer ? device : GetDevice(producer, &result);
  if (other == nullptr) return result;
  const StreamRef ours = {device, CurrentStream(consumer)};
  const StreamRef theirs = {other, stream};
  if (stream != nullptr && !(theirs == ours)) {
    ContextScope scope(other);
    result = IsCapturing(stream) ? kSuccess : OrderStreams(ours, theirs);
    if (result != kSuccess) return result;
  }
  return NoteReady(storage, ours);
}

}  // namespace dlpack::cuda
