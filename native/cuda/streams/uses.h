// Uses: the streams that have work on a piece of memory. Work on another stream is ordered after it. The memory is
// freed when the last reference is dropped, on any thread, and this work has finished. No thread blocks for it.
#pragma once

#include <initializer_list>

#include "../../memory/storage.h"
#include "stream.h"

namespace dlpack::cuda {

// Work that is queued on `stream` from now on starts after all work that was noted on other streams. Any thread that
// holds a reference.
Result OrderAfterUses(Storage* storage, const StreamRef& stream);

// Remembers that work on the memory was queued on a stream, or is about to be. Any thread that holds a
// reference.
Result NoteUse(Storage* storage, const StreamRef& stream);

// OrderAfterUses and NoteUse, for work that is about to be queued on `stream`.
inline Result BeginUse(Storage* storage, const StreamRef& stream) {
  const Result result = OrderAfterUses(storage, stream);
  return result == kSuccess ? NoteUse(storage, stream) : result;
}

// Queues work on the memory of storages with `queue()`, after all work that was noted on other streams, and notes it.
// NULL stands for plain host memory, which has no uses. Nothing is noted when `queue` returns kNotSupported. Any thread
// that holds references.
template <class Queue>
Result UseOnStream(const StreamRef& stream, std::initializer_list<Storage*> storages, Queue queue) {
  ContextScope scope(stream.device);
  Result result = scope.result();
  for (Storage* storage : storages) {
    if (result == kSuccess && storage != nullptr) result = OrderAfterUses(storage, stream);
  }
  if (result == kSuccess) result = queue();
  if (result == kNotSupported) return result;
  // Noted also after a failure, because a part of the work may be queued.
  for (Storage* storage : storages) {
    const Result noted = storage == nullptr ? kSuccess : NoteUse(storage, stream);
    if (result == kSuccess) result = noted;
  }
  return result;
}

// A consumer gets the memory. Work that it queues on its stream starts after all noted work, and the stream is noted
// itself. The stream may be destroyed before the memory is released, and the driver crashes when it is called with a
// destroyed stream. So a blocking stream is not remembered. The legacy default stream stands for it, because the two
// are ordered with each other. A non-blocking stream has to live as long as the memory. Any thread that holds a
// reference.
Result Lend(Storage* storage, const StreamRef& stream);

// Remembers that a stream of ours waits for the producer of foreign memory: work on other streams is ordered after it,
// and the release waits for nothing. Any thread that holds a reference.
Result NoteReady(Storage* storage, const StreamRef& stream);

}  // namespace dlpack::cuda
