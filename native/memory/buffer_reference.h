// BufferReference: the reference that one external ArrayBuffer holds to its storage. The finalizer of the buffer drops
// it, but on Node finalizers wait for the event loop. When JavaScript disposes a tensor it detaches the buffer, which
// then reaches no memory, so the reference is dropped at once and the finalizer finds nothing to drop.
#pragma once

#include "storage.h"

namespace dlpack {

struct BufferReference {
  std::atomic<Storage*> storage;  // NULL once it was dropped
  std::atomic<bool> is_shared;    // both the table and the finalizer still need this record
};

static_assert(sizeof(BufferReference) <= kSmallBlock, "a BufferReference is a small block");

// Adds a reference for a buffer. NULL when out of memory. JavaScript thread.
inline BufferReference* NewBufferReference(Storage* storage) {
  BufferReference* self = static_cast<BufferReference*>(AllocateBlock(this_thread, kSmallBlock));
  if (self == nullptr) return nullptr;
  RetainStorage(storage);
  self->storage.store(storage, std::memory_order_relaxed);
  self->is_shared.store(true, std::memory_order_relaxed);
  return self;
}

// Drops the reference; the second call does nothing. Any thread, because Deno calls finalizers on other threads.
inline void DropReference(BufferReference* self) {
  Storage* storage = self->storage.exchange(nullptr, std::memory_order_acq_rel);
  if (storage != nullptr) ReleaseStorage(storage);
}

// Called once by the table and once by the finalizer. The second call frees the record. Any thread.
inline void LetGo(BufferReference* self) {
  if (!self->is_shared.exchange(false, std::memory_order_acq_rel)) GiveBlockBack(this_thread, kSmallBlock, self);
}

}  // namespace dlpack
