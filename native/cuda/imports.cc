#include "imports.h"

namespace dlpack {
namespace cuda {

Result FollowMaker(Storage* storage, int32_t maker, int32_t consumer, StreamHandle stream) {
  Result result;
  const StreamHandle ours = CurrentStream(consumer);
  const Device* device = GetDevice(consumer, &result);
  if (device == nullptr) return result;
  if (stream != nullptr && (stream != ours || maker != consumer)) {
    const Device* other = GetDevice(maker, &result);
    if (other == nullptr) return result;
    ContextScope other_scope(other);
    if (!IsCapturing(stream)) result = OrderStreams(Place{device, ours}, Place{other, stream});
    if (result != kSuccess) return result;
  }
  return NoteReady(storage, Place{device, ours});
}

}  // namespace cuda
}  // namespace dlpack
