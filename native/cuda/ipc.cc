#include "ipc.h"

#include <stdlib.h>
#include <string.h>

#include "../platform/platform.h"
#include "imports.h"

namespace dlpack::cuda {

namespace {

// Memory of another process in our address space.
struct Mapping {
  const Device* device;
  IpcHandle handle;
  uint64_t process;
  Address start;  // where the memory of the handle begins
  Location location;
  uint32_t count;  // of storages
  Mapping* next;
};

// Not a Lock, which spins, because mapping and unmapping take long.
platform::Mutex mutex;
Mapping* mappings;    // guarded by mutex
uint64_t process_id;  // guarded by mutex; 0: not made yet

// The mutex is held in all of these.

Mapping* FindMapping(const Device* device, const IpcHandle& handle) {
  for (Mapping* mapping = mappings; mapping != nullptr; mapping = mapping->next) {
    if (mapping->device == device && memcmp(&mapping->handle, &handle, sizeof(handle)) == 0) return mapping;
  }
  return nullptr;
}

const Mapping* MappingAround(Address address) {
  for (const Mapping* mapping = mappings; mapping != nullptr; mapping = mapping->next) {
    if (address - mapping->location.start < mapping->location.size) return mapping;
  }
  return nullptr;
}

Mapping* Map(const Device* device, const IpcHandle& handle, uint64_t process, Result* result) {
  Mapping* mapping = static_cast<Mapping*>(calloc(1, sizeof(Mapping)));
  if (mapping == nullptr) {
    *result = kOutOfDeviceMemory;
    return nullptr;
  }
  mapping->device = device;
  mapping->handle = handle;
  mapping->process = process;
  ContextScope scope(device);
  RelaxedScope relaxed;
  *result = scope.result();
  if (*result == kSuccess) *result = driver.IpcOpenMemHandle(&mapping->start, handle, kIpcLazyPeerAccess);
  if (*result == kSuccess) {
    *result = FindLocation(mapping->start, &mapping->location);
    if (*result != kSuccess) driver.IpcCloseMemHandle(mapping->start);
  }
  if (*result != kSuccess) {
    free(mapping);
    return nullptr;
  }
  mapping->next = mappings;
  mappings = mapping;
  return mapping;
}

void Unmap(Mapping* mapping) {
  Mapping** at = &mappings;
  while (*at != mapping) at = &(*at)->next;
  *at = mapping->next;
  ContextScope scope(mapping->device);
  RelaxedScope relaxed;
  driver.IpcCloseMemHandle(mapping->start);
  free(mapping);
}

// Checks against the size that the driver reports. Without a size, the description from the other process is trusted.
bool Reaches(const Mapping* mapping, uint64_t offset, uint64_t nbytes) {
  if (mapping->location.size == 0) return true;
  const uint64_t before = mapping->start - mapping->location.start;
  const uint64_t size = mapping->location.size;
  return before <= size && offset <= size - before && nbytes <= size - before - offset;
}

// Any thread. uses.cc has waited for the work that was noted.
void DestroyMapped(Storage* self) {
  Count(counts.imports, -1);
  {
    platform::MutexScope scope(&mutex);
    Mapping* mapping = static_cast<Mapping*>(self->owner);
    if (--mapping->count == 0) Unmap(mapping);
  }
  FreeStorage(self);
}

}  // namespace

uint64_t ProcessId() {
  platform::MutexScope scope(&mutex);
  if (process_id != 0) return process_id;
  // Process numbers have at most 22 bits.
  process_id = uint64_t{platform::ProcessNumber()} << 42 | (platform::WallNanoseconds() & ((uint64_t{1} << 42) - 1));
  return process_id;
}

Result DescribeMemory(Address address, SharedRange* range) {
  *range = SharedRange{};
  Location location;
  Result result = FindLocation(address, &location);
  if (result != kSuccess || location.kind != kDLCUDA) return result;
  range->ordinal = location.ordinal;
  {
    platform::MutexScope scope(&mutex);
    const Mapping* mapping = MappingAround(address);
    if (mapping != nullptr) {
      range->handle = mapping->handle;
      range->process = mapping->process;
      range->start = mapping->start;
      range->size = mapping->location.size - (mapping->start - mapping->location.start);
      range->is_shareable = true;
      return kSuccess;
    }
  }
  uint32_t is_capable = 0;
  PointerAttribute attribute = kPointerIsIpcCapable;
  void* value = &is_capable;
  result = driver.PointerGetAttributes(1, &attribute, &value, address);
  if (result != kSuccess || is_capable == 0) return result;
  RelaxedScope relaxed;
  result = driver.IpcGetMemHandle(&range->handle, location.start);
  if (result != kSuccess) return result;
  range->process = ProcessId();
  range->start = location.start;
  range->size = location.size;
  range->is_shareable = true;
  return kSuccess;
}

Storage* OpenMemory(const Device* device, const IpcHandle& handle, uint64_t process, uint64_t offset, uint64_t nbytes,
                    Result* result) {
  *result = kSuccess;
  Storage* storage = WrapStorage(nullptr, nbytes, DestroyMapped, nullptr, 0);
  if (storage == nullptr) {
    *result = kOutOfDeviceMemory;
    return nullptr;
  }
  platform::MutexScope scope(&mutex);
  Mapping* mapping = FindMapping(device, handle);
  if (mapping == nullptr) mapping = Map(device, handle, process, result);
  const bool reaches = mapping != nullptr && Reaches(mapping, offset, nbytes);
  if (!reaches) {
    if (mapping != nullptr && mapping->count == 0) Unmap(mapping);
    FreeStorage(storage);
    return nullptr;
  }
  ++mapping->count;
  storage->owner = mapping;
  storage->data = reinterpret_cast<void*>(mapping->start + offset);
  Count(counts.imports, 1);
  return storage;
}

Result FollowEvent(Storage* storage, const StreamRef& stream, const IpcHandle& handle) {
  ContextScope scope(stream.device);
  RelaxedScope relaxed;
  EventHandle event = nullptr;
  Result result = scope.result();
  if (result == kSuccess) result = driver.IpcOpenEventHandle(&event, handle);
  if (result != kSuccess) return result;
  // A graph cannot wait for work outside of it, so this waits until that work is done before it is recorded.
  result =
      IsCapturing(stream.handle) ? driver.EventSynchronize(event) : driver.StreamWaitEvent(stream.handle, event, 0);
  // The driver keeps the data of the event that it still needs.
  driver.EventDestroy(event);
  return result == kSuccess ? NoteReady(storage, stream) : result;
}

}  // namespace dlpack::cuda
