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
    if (!IsCapturing(stream)) {
      EventHandle event = RecordEvent(other, stream, &result);
      if (event == nullptr) return result;
      ContextScope scope(device);
      result = driver.StreamWaitEvent(ours, event, 0);
      driver.EventDestroy(event);
      if (result != kSuccess) return result;
    }
  }
  return NoteReady(storage, device, ours);
}

}  // namespace cuda
}  // namespace dlpack
