#include "flat_release.h"

#include <stddef.h>

#include <atomic>
#include <utility>

#include "../../lock.h"

namespace dlpack::tvm_ffi {

typedef void (*Deleter)(void* self, int flags);

// Deleters that run inside each other. One that is deeper waits until the outermost has returned. A level takes less
// than a kilobyte of the stack.
static const int kMostLevels = 64;

static const int kBoth = kTVMFFIObjectDeleterFlagBitMaskStrong | kTVMFFIObjectDeleterFlagBitMaskWeak;

static thread_local int levels;
static thread_local TVMFFIObject* waiting;

// Nobody counts the references of an object that has none any more, so the count links the waiting objects.
static void Wait(TVMFFIObject* object) {
  object->combined_ref_count = reinterpret_cast<uint64_t>(waiting);
  waiting = object;
}

static void DeleteInTurn(Deleter original, void* self, int flags) {
  // With weak references, which containers do not have, the memory outlives the contents. The caller then counts on.
  if (levels >= kMostLevels && flags == kBoth) {
    Wait(static_cast<TVMFFIObject*>(self));
    return;
  }
  ++levels;
  original(self, flags);
  while (levels == 1 && waiting != nullptr) {
    TVMFFIObject* next = waiting;
    waiting = reinterpret_cast<TVMFFIObject*>(next->combined_ref_count);
    next->combined_ref_count = 0;
    next->deleter(next, kBoth);
  }
  --levels;
}

// Each library has its own deleter for each type. An object has no room for the deleter that it had, so each such
// deleter has a number, and a function that knows the number.
static const size_t kMostDeleters = 32;
static std::atomic<Deleter> originals[kMostDeleters];

template <size_t kNumber>
static void Delete(void* self, int flags) {
  DeleteInTurn(originals[kNumber].load(std::memory_order_acquire), self, flags);
}

template <size_t... kNumbers>
static Deleter Replacement(size_t number, std::index_sequence<kNumbers...>) {
  static const Deleter kReplacements[] = {Delete<kNumbers>...};
  return kReplacements[number];
}

static Deleter ReplacementAt(size_t number) { return Replacement(number, std::make_index_sequence<kMostDeleters>()); }

// One strong reference, and the weak one that all strong references have together.
static const uint64_t kOnlyReference = (uint64_t{1} << 32) | 1;

// NULL when there are too many deleters: then the object keeps its own.
static Deleter ReplacementOf(Deleter deleter) {
  static Lock lock;
  LockScope scope(&lock);
  for (size_t i = 0; i < kMostDeleters; ++i) {
    const Deleter known = originals[i].load(std::memory_order_relaxed);
    if (deleter == ReplacementAt(i)) return nullptr;  // it was replaced before
    if (known == nullptr) originals[i].store(deleter, std::memory_order_release);
    if (known == nullptr || known == deleter) return ReplacementAt(i);
  }
  return nullptr;
}

void ReleaseFlat(TVMFFIObject* object) {
  switch (object->type_index) {
    case kTVMFFIArray:
    case kTVMFFIList:
    case kTVMFFIMap:
    case kTVMFFIDict:
    case kTVMFFIError: break;
    default: return;
  }
  if (__atomic_load_n(&object->combined_ref_count, __ATOMIC_RELAXED) != kOnlyReference) return;
  if (const Deleter replacement = ReplacementOf(object->deleter)) object->deleter = replacement;
}

}  // namespace dlpack::tvm_ffi
