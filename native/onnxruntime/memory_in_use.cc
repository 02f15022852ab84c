#include "memory_in_use.h"

#include <stdio.h>

#include "../lock.h"

namespace dlpack::onnxruntime {

namespace {

Lock lock;          // guards all below
UsedMemory* first;  // the asynchronous runs of all threads
// Tensors that listed runs write to. Changes under the lock; a thread sees its own runs without it.
std::atomic<uint32_t> all_written;

// True when there is an overlap that changes results.
bool Check(const UsedTensor& a, const UsedTensor& b, const char* whose, Failure* failure) {
  if (!(a.is_written || b.is_written)) return false;
  if (a.start >= b.start + b.nbytes || b.start >= a.start + a.nbytes) return false;
  char text[sizeof(failure->text)];
  const auto kind = [](const UsedTensor& tensor) { return tensor.is_written ? "output" : "input"; };
  snprintf(text, sizeof(text),
           "Expected memory of its own for %s '%.500s' but it overlaps %s '%.500s' of %s; use another tensor, or wait "
           "for that run",
           kind(a), a.name, kind(b), b.name, whose);
  failure->Set(kOverlap, text);
  return true;
}

bool Compare(const UsedMemory& memory, Failure* failure) {
  for (const UsedTensor* tensor = memory.tensors.begin(); tensor != memory.tensors.end(); ++tensor) {
    for (const UsedTensor* other = tensor + 1; other != memory.tensors.end(); ++other) {
      if (Check(*tensor, *other, "the same run", failure)) return false;
    }
    for (const UsedMemory* run = first; run != nullptr; run = run->after) {
      for (const UsedTensor& other : run->tensors) {
        if (Check(*tensor, other, "a run that has not ended", failure)) return false;
      }
    }
  }
  return true;
}

}  // namespace

bool UsedMemory::Add(const UsedTensor& tensor) {
  if (!tensors.Add(tensor)) return false;
  RetainStorage(tensor.storage);
  if (tensor.is_written) ++written_count;
  return true;
}

bool UsedMemory::Contain(const void* address) const {
  for (const UsedTensor& tensor : tensors) {
    const char* start = static_cast<const char*>(tensor.storage->data);
    if (address >= start && address < start + tensor.storage->nbytes) return true;
  }
  return false;
}

void UsedMemory::Use(bool is_async, Failure* failure) {
  const bool must_compare = written_count > 0 || all_written.load(std::memory_order_relaxed) > 0;
  if (!is_async && !must_compare) return;
  LockScope scope(&lock);
  if (must_compare && !Compare(*this, failure)) return;
  if (!is_async) return;
  is_listed = true;
  all_written.fetch_add(written_count, std::memory_order_relaxed);
  after = first;
  if (first != nullptr) first->before = this;
  first = this;
}

void UsedMemory::Release() {
  if (is_listed) {
    LockScope scope(&lock);
    all_written.fetch_sub(written_count, std::memory_order_relaxed);
    *(before == nullptr ? &first : &before->after) = after;
    if (after != nullptr) after->before = before;
  }
  for (const UsedTensor& tensor : tensors) ReleaseStorage(tensor.storage);
  tensors.Free();
}

}  // namespace dlpack::onnxruntime
