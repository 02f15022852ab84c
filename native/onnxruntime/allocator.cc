#include "allocator.h"

#include "../memory/kept_blocks.h"
#include "../platform/platform.h"
#include "runtime.h"

#if defined(__clang__)
#define DLPACK_TAIL_CALL [[clang::musttail]]
#else
#define DLPACK_TAIL_CALL  // GCC does so with optimization, and without it writes the tables
#endif

namespace dlpack::onnxruntime {

namespace {

// More than any system has.
const size_t kMostBytes = SIZE_MAX / 4;

// Lies before the memory, because the library frees it by its address alone. 256 bytes keep the alignment.
struct alignas(256) Prefix {
  LargeBlock block;  // of the system; without `data` the memory comes from platform::AllocateMemory
};
static_assert(sizeof(Prefix) == 256, "the memory after a prefix is aligned to 256 bytes");

struct Blocks {
  OrtAllocator base;  // first, because the library passes its address
  const OrtMemoryInfo* host;
};
Blocks blocks;

void* TryAlloc(size_t nbytes) {
  if (nbytes > kMostBytes) return nullptr;
  const size_t total = nbytes + sizeof(Prefix);
  LargeBlock block = {};
  if (total >= kLargeBlockSize && !TakeLargeBlock(total, false, &block)) return nullptr;
  void* start = block.data != nullptr ? block.data : platform::AllocateMemory(total);
  if (start == nullptr) return nullptr;
  static_cast<Prefix*>(start)->block = block;
  return static_cast<Prefix*>(start) + 1;
}

// Any thread. NULL for no bytes, as in the library's own allocators. The library does not check for NULL otherwise: it
// expects an exception, which this addon cannot throw. So without memory the library's own allocator is asked for more
// than exists, and throws. It is called in the place of this function, because an exception could not leave a frame of
// code that has no tables for unwinding.
void* Alloc(OrtAllocator*, size_t nbytes) {
  void* memory = nbytes == 0 ? nullptr : TryAlloc(nbytes);
  if (memory != nullptr || nbytes == 0) return memory;
  DLPACK_TAIL_CALL return library.strings->Alloc(library.strings, kMostBytes);
}

void Free(OrtAllocator*, void* memory) {
  if (memory == nullptr) return;
  Prefix* prefix = static_cast<Prefix*>(memory) - 1;
  const LargeBlock block = prefix->block;
  if (block.data != nullptr) {
    ReleaseLargeBlock(block);
  } else {
    platform::FreeMemory(prefix);
  }
}

const OrtMemoryInfo* Info(const OrtAllocator* self) { return reinterpret_cast<const Blocks*>(self)->host; }

}  // namespace

OrtAllocator* BlockAllocator() { return &blocks.base; }

void PrepareAllocator(uint32_t version, const OrtMemoryInfo* host) {
  blocks.base.version = version;
  blocks.base.Alloc = Alloc;
  blocks.base.Free = Free;
  blocks.base.Info = Info;
  blocks.base.Reserve = Alloc;
  blocks.host = host;
}

}  // namespace dlpack::onnxruntime
