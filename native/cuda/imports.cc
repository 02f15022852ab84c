#include "imports.h"

namespace dlpack {
namespace cuda {

Result FollowMaker(Storage* storage, int32_t maker, int32_t consumer, StreamHandle stream) {
  Result result;
  const Device* device = GetDevice(consumer, &result);
  const Device* other = device == nullptr ? nullptr : GetDevice(maker, &result);
  if (other == nullptr) return result;
  const Place ours = {device, CurrentStream(consumer)};
  const Place theirs = {other, stream};
  if (stream != nullptr && !(theirs == ours)) {
    ContextScope scope(other);
    result = IsCapturing(stream) ? kSuccess : OrderStreams(ours, theirs);
    if (result != kSuccess) return result;
  }
  return NoteReady(storage, ours);
}

}  // namespace cuda
}  // namespace dlpack
