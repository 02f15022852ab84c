// Memory of the fake devices. As on a real device, the process cannot access device addresses. No address is used
// twice, and the bytes lie elsewhere. Pinned and managed memory is ordinary memory of the process.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <algorithm>
#include <deque>

#include "state.h"

namespace fake {

using namespace dlpack::cuda;

namespace {

constexpr size_t kAlign = 512;
constexpr size_t kFillUpTo = size_t{1} << 20;        // larger blocks start as untouched zero pages
constexpr size_t kKeepHostBytes = size_t{64} << 20;  // freed pinned and managed memory that stays readable

Address space_start = 0;
Address space_next = 0;
size_t space_bytes = 0;

struct Kept {
  Address start;
  size_t bytes;
};
std::deque<Kept> kept;
size_t kept_bytes = 0;

Address TakeSpace(size_t bytes) {
  // Address space costs nothing, but memory checkers allow less of it.
  for (size_t wanted = size_t{4} << 40; space_start == 0 && wanted >= size_t{1} << 30; wanted /= 4) {
    void* space = mmap(nullptr, wanted, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED) continue;
    space_start = reinterpret_cast<Address>(space);
    space_next = space_start + kAlign;
    space_bytes = wanted;
  }
  // At least one unused step between blocks, so that an overrun is outside of every block.
  const size_t whole = (bytes / kAlign + 2) * kAlign;
  if (bytes > space_bytes || space_next + whole > space_start + space_bytes) return 0;
  const Address result = space_next;
  space_next += whole;
  return result;
}

char* TakeBytes(size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  if (bytes <= kFillUpTo) memset(memory, 0xCD, bytes);
  return static_cast<char*>(memory);
}

const char* NameOf(Kind kind) {
  static const char* const names[] = {"device", "pool", "pinned", "managed", "mapped"};
  return names[static_cast<int>(kind)];
}

bool IsCounted(Kind kind) { return kind != Kind::kPinned && kind != Kind::kMapped; }

bool Overlap(const Touch& a, const Touch& b) {
  const Address first = Original(a.start), second = Original(b.start);
  return first < second + b.bytes && second < first + a.bytes;
}

}  // namespace

bool InDeviceSpace(Address address) {
  return space_start != 0 && address >= space_start && address < space_start + space_bytes;
}

Allocation* Find(Address address) {
  auto& allocations = machine().allocations;
  auto next = allocations.upper_bound(address);
  if (next == allocations.begin()) return nullptr;
  Allocation& found = (--next)->second;
  return address - found.start < found.bytes ? &found : nullptr;
}

Address Original(Address address) {
  const Allocation* found = Find(address);
  return found == nullptr || found->kind != Kind::kMapped ? address : address - found->start + found->origin;
}

Allocation* Map(Allocation* origin, int device) {
  Allocation made{};
  made.kind = Kind::kMapped;
  made.device = device;
  made.bytes = origin->bytes;
  made.origin = origin->start;
  made.start = TakeSpace(made.bytes);
  return &(machine().allocations[made.start] = made);
}

Allocation* Allocate(Kind kind, int device, size_t bytes) {
  Device& on = *machine().devices[device];
  if (IsCounted(kind) && bytes > on.limit - on.used) {
    // Like the driver, waits for memory that streams are about to free.
    std::vector<OperationRef> frees;
    for (const auto& entry : machine().allocations) {
      if (entry.second.device == device && entry.second.ended != nullptr) frees.push_back(entry.second.ended);
    }
    for (const OperationRef& free : frees) RunTo(free);
    if (bytes > on.limit - on.used) return nullptr;
  }
  char* memory = TakeBytes(bytes);
  if (memory == nullptr) return nullptr;
  Allocation made{};
  made.kind = kind;
  made.device = device;
  made.bytes = bytes;
  made.memory = memory;
  made.start = made.OnHost() ? reinterpret_cast<Address>(memory) : TakeSpace(bytes);
  if (made.start == 0) {
    munmap(memory, bytes);
    return nullptr;
  }
  if (IsCounted(kind)) on.used += bytes;
  return &(machine().allocations[made.start] = made);
}

void Release(Allocation* allocation) {
  allocation->freed = true;
  allocation->made = allocation->ended = nullptr;
  allocation->users.clear();
  if (IsCounted(allocation->kind)) machine().devices[allocation->device]->used -= allocation->bytes;
  if (allocation->kind == Kind::kMapped) return;
  if (!allocation->OnHost()) {
    munmap(allocation->memory, allocation->bytes);
    allocation->memory = nullptr;
    return;
  }
  if (allocation->bytes <= kFillUpTo) memset(allocation->memory, 0xDD, allocation->bytes);
  kept.push_back({allocation->start, allocation->bytes});
  kept_bytes += allocation->bytes;
  while (kept_bytes > kKeepHostBytes) {
    const Kept oldest = kept.front();
    kept.pop_front();
    kept_bytes -= oldest.bytes;
    munmap(reinterpret_cast<void*>(oldest.start), oldest.bytes);
    machine().allocations.erase(oldest.start);
  }
}

void ForgetMemory() {
  for (auto& entry : machine().allocations) {
    if (entry.second.memory != nullptr) munmap(entry.second.memory, entry.second.bytes);
  }
  machine().allocations.clear();
  kept.clear();
  kept_bytes = 0;
}

// When an operation is queued, everything that may run concurrently is known. So a missing order is detected, whichever
// operation runs first.
void CheckTouches(const OperationRef& operation) {
  if (operation->touches.empty()) return;
  const std::set<const Operation*> before = Before(operation);
  const char* name = operation->name.c_str();
  for (const Touch& touch : operation->touches) {
    Allocation* mapped = touch.bytes == 0 ? nullptr : Find(touch.start);
    if (mapped == nullptr || mapped->freed) continue;
    if (mapped->kind == Kind::kMapped) mapped->users.push_back(operation);
    Allocation* allocation = Find(Original(touch.start));
    if (allocation == nullptr || allocation->freed) continue;
    if (allocation->made != nullptr && !allocation->made->done && before.count(allocation->made.get()) == 0) {
      Report("race: %s on %s does not wait for the allocation of its memory", name, NameOf(operation->stream).c_str());
    }
    if (allocation->ended != nullptr && allocation->ended != operation && before.count(allocation->ended.get()) == 0) {
      Report("race: %s on %s uses memory that %s is about to free", name, NameOf(operation->stream).c_str(),
             NameOf(allocation->ended->stream).c_str());
    }
    auto& users = allocation->users;
    users.erase(std::remove_if(users.begin(), users.end(), [](const auto& user) { return user->done; }), users.end());
    for (const OperationRef& user : users) {
      if (before.count(user.get()) != 0) continue;
      for (const Touch& other : user->touches) {
        if (!Overlap(touch, other) || (!touch.writes && !other.writes)) continue;
        Report("race: %s on %s and %s on %s touch the same memory with no order between them", user->name.c_str(),
               NameOf(user->stream).c_str(), name, NameOf(operation->stream).c_str());
        break;
      }
    }
    if (users.empty() || users.back() != operation) users.push_back(operation);
  }
}

namespace {
// The bytes of a range, or NULL with a report.
char* Bytes(const char* name, Address address, size_t bytes) {
  Allocation* allocation = Find(address);
  if (allocation != nullptr && allocation->kind == Kind::kMapped && !allocation->freed) {
    address = Original(address);
    allocation = Find(address);
  }
  if (allocation == nullptr) {
    if (!InDeviceSpace(address)) return reinterpret_cast<char*>(address);
    Report("violation: %s touches %zu bytes at %#llx, outside all memory of the device", name, bytes,
           static_cast<unsigned long long>(address));
    return nullptr;
  }
  const size_t offset = address - allocation->start;
  if (allocation->freed) {
    Report("violation: %s touches freed %s memory", name, NameOf(allocation->kind));
    return nullptr;
  }
  if (bytes > allocation->bytes - offset) {
    Report("violation: %s touches %zu bytes at %zu of %zu", name, bytes, offset, allocation->bytes);
    return nullptr;
  }
  if (allocation->made != nullptr && !allocation->made->done) {
    Report("violation: %s touches memory before its allocation ran", name);
  }
  return allocation->memory + offset;
}
}  // namespace

void Read(const char* name, Address from, size_t bytes, void* to) {
  if (bytes == 0) return;
  const char* source = Bytes(name, from, bytes);
  if (source == nullptr) {
    memset(to, 0xDD, bytes);
  } else {
    memcpy(to, source, bytes);
  }
}

void Write(const char* name, Address to, size_t bytes, const void* from) {
  if (bytes == 0) return;
  char* target = Bytes(name, to, bytes);
  if (target != nullptr) memcpy(target, from, bytes);
}

}  // namespace fake

using namespace fake;
using namespace dlpack::cuda;

namespace {
Result AllocateNow(Kind kind, size_t bytes, Address* address) {
  if (bytes == 0 || address == nullptr) return kInvalidValue;
  const Allocation* made = Allocate(kind, Current()->device, bytes);
  if (made == nullptr) return kOutOfDeviceMemory;
  *address = made->start;
  return kSuccess;
}

// The live block that starts at the address; NULL with a report when there is no such block.
Allocation* ToFree(const char* symbol, Address address, bool on_host) {
  Allocation* found = Find(address);
  const char* wrong = found == nullptr                          ? "unknown memory"
                      : found->freed || found->ended != nullptr ? "memory freed before"
                      : found->start != address                 ? "memory that does not start there"
                      : on_host != (found->kind == Kind::kPinned) || found->kind == Kind::kMapped
                          ? "memory of another kind"
                          : nullptr;
  if (wrong == nullptr) return found;
  Report("error: %s of %s at %#llx", symbol, wrong, static_cast<unsigned long long>(address));
  return nullptr;
}

// The driver cannot know whether another process has the memory mapped; its users must ensure that none has.
void ReportMappings(const char* symbol, const Allocation* allocation) {
  for (const auto& entry : machine().allocations) {
    const Allocation& other = entry.second;
    if (other.kind == Kind::kMapped && !other.freed && other.origin == allocation->start) {
      Report("error: %s frees memory that another process has mapped", symbol);
    }
  }
}
}  // namespace

void fake::ReportUsers(const char* symbol, const Allocation* allocation) {
  for (const OperationRef& user : allocation->users) {
    if (user->done) continue;
    Report("race: %s frees memory that %s on %s still uses", symbol, user->name.c_str(), NameOf(user->stream).c_str());
  }
}

FAKE_EXPORT(MemGetInfo, cuMemGetInfo_v2)(size_t* free, size_t* total) {
  ENTER("cuMemGetInfo_v2");
  const Device& device = *machine().devices[Current()->device];
  *free = device.limit - device.used;
  *total = device.limit;
  return kSuccess;
}

FAKE_EXPORT(MemAlloc, cuMemAlloc_v2)(Address* address, size_t bytes) {
  ENTER("cuMemAlloc_v2");
  const Result forbidden = Forbidden("cuMemAlloc_v2");
  return forbidden != kSuccess ? forbidden : AllocateNow(Kind::kDevice, bytes, address);
}

FAKE_EXPORT(MemAllocManaged, cuMemAllocManaged)(Address* address, size_t bytes, uint32_t flags) {
  ENTER("cuMemAllocManaged");
  if (flags != kAttachGlobal && flags != 2) return kInvalidValue;
  const Result forbidden = Forbidden("cuMemAllocManaged");
  return forbidden != kSuccess ? forbidden : AllocateNow(Kind::kManaged, bytes, address);
}

FAKE_EXPORT(MemHostAlloc, cuMemHostAlloc)(void** memory, size_t bytes, uint32_t flags) {
  ENTER("cuMemHostAlloc");
  if (flags > 7) return kInvalidValue;
  const Result forbidden = Forbidden("cuMemHostAlloc");
  return forbidden != kSuccess ? forbidden : AllocateNow(Kind::kPinned, bytes, reinterpret_cast<Address*>(memory));
}

FAKE_EXPORT(MemFree, cuMemFree_v2)(Address address) {
  ENTER("cuMemFree_v2");
  const Result forbidden = Forbidden("cuMemFree_v2");
  if (forbidden != kSuccess) return forbidden;
  Allocation* found = ToFree("cuMemFree_v2", address, false);
  if (found == nullptr) return kInvalidValue;
  if (found->kind == Kind::kPool) {
    // The driver does not wait for memory of a pool.
    ReportUsers("cuMemFree_v2", found);
  } else {
    const Result code = AwaitContext(call.lock, &machine().devices[found->device]->context, "cuMemFree_v2");
    if (code != kSuccess) return code;
  }
  ReportMappings("cuMemFree_v2", found);
  Release(found);
  return kSuccess;
}

FAKE_EXPORT(MemFreeHost, cuMemFreeHost)(void* memory) {
  ENTER("cuMemFreeHost");
  const Result forbidden = Forbidden("cuMemFreeHost");
  if (forbidden != kSuccess) return forbidden;
  Allocation* found = ToFree("cuMemFreeHost", reinterpret_cast<Address>(memory), true);
  if (found == nullptr) return kInvalidValue;
  // The driver does not promise to wait here.
  ReportUsers("cuMemFreeHost", found);
  Release(found);
  return kSuccess;
}

FAKE_EXPORT(MemPoolCreate, cuMemPoolCreate)(MemoryPool* pool, const PoolProperties* properties) {
  ENTER("cuMemPoolCreate", Needs::kInit);
  const Machine& m = machine();
  if (pool == nullptr || properties == nullptr || properties->allocation_type != 1 || properties->location_type != 1 ||
      properties->location_id < 0 || static_cast<size_t>(properties->location_id) >= m.devices.size()) {
    return kInvalidValue;
  }
  if (m.devices[properties->location_id]->attributes[kMemoryPoolsSupported] == 0) return kNotSupported;
  Pool* made = new Pool{properties->location_id};
  machine().pools.insert(made);
  *pool = made;
  return kSuccess;
}

FAKE_EXPORT(MemPoolSetAttribute, cuMemPoolSetAttribute)(MemoryPool pool, PoolAttribute attribute, void* value) {
  ENTER("cuMemPoolSetAttribute", Needs::kInit);
  if (machine().pools.count(static_cast<Pool*>(pool)) == 0) return kInvalidHandle;
  if (attribute != kPoolReleaseThreshold) return kInvalidValue;
  memcpy(&static_cast<Pool*>(pool)->threshold, value, sizeof(uint64_t));
  return kSuccess;
}

FAKE_EXPORT(MemPoolTrimTo, cuMemPoolTrimTo)(MemoryPool pool, size_t) {
  ENTER("cuMemPoolTrimTo", Needs::kInit);
  return machine().pools.count(static_cast<Pool*>(pool)) == 0 ? kInvalidHandle : static_cast<Result>(kSuccess);
}

FAKE_EXPORT(MemAllocFromPoolAsync, cuMemAllocFromPoolAsync)(Address* address, size_t bytes, MemoryPool pool,
                                                            StreamHandle stream) {
  ENTER("cuMemAllocFromPoolAsync");
  if (machine().pools.count(static_cast<Pool*>(pool)) == 0) return kInvalidHandle;
  Result code;
  Stream* found = FindStream(stream, &code);
  if (found == nullptr) return code;
  if (bytes == 0) {
    *address = 0;
    return kSuccess;
  }
  // The pool may have to grow, which is not stream-ordered.
  code = found->capture == nullptr ? Forbidden("cuMemAllocFromPoolAsync") : kSuccess;
  if (code == kSuccess) code = Accepts(found);
  if (code != kSuccess) return code;
  Allocation* made = Allocate(Kind::kPool, static_cast<Pool*>(pool)->device, bytes);
  if (made == nullptr) return kOutOfDeviceMemory;
  *address = made->start;
  made->made = Enqueue(found, "an allocation", {}, nullptr);
  return kSuccess;
}

FAKE_EXPORT(MemFreeAsync, cuMemFreeAsync)(Address address, StreamHandle stream) {
  ENTER("cuMemFreeAsync");
  Result code;
  Stream* found = FindStream(stream, &code);
  if (found == nullptr) return code;
  Allocation* allocation = ToFree("cuMemFreeAsync", address, false);
  if (allocation == nullptr) return kInvalidValue;
  code = Accepts(found);
  if (code != kSuccess) return code;
  const bool captures = found->capture != nullptr;
  const bool of_capture = allocation->made != nullptr && allocation->made->stream->capture == found->capture;
  if (captures && !of_capture) return kInvalidValue;
  const std::vector<Touch> all{{allocation->start, allocation->bytes, true}};
  const OperationRef free = Enqueue(found, "a free", all, [address] { Release(Find(address)); });
  if (!captures) allocation->ended = free;
  return kSuccess;
}
