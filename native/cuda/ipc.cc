// Memory and events of other processes of this machine, by handles of the driver. JavaScript thread, except
// DestroyMapped.
#include <stdlib.h>
#include <string.h>

#include "../platform/platform.h"
#include "context.h"
#include "imports.h"
#include "memory.h"

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
  RelaxedContextScope scope(device);
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
  RelaxedContextScope scope(mapping->device);
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

static_assert(sizeof(ShareRequest::ipc_handle) == sizeof(IpcHandle), "messages carry whole handles");

IpcHandle ReadHandle(const uint64_t* words) {
  IpcHandle handle;
  memcpy(&handle, words, sizeof(handle));
  return handle;
}

// A number that identifies this process on the machine. Process numbers of the system are not enough, because they
// repeat between containers.
uint64_t ProcessId() {
  platform::MutexScope scope(&mutex);
  if (process_id != 0) return process_id;
  // Process numbers have at most 22 bits.
  process_id = uint64_t{platform::ProcessNumber()} << 42 | (platform::WallNanoseconds() & ((uint64_t{1} << 42) - 1));
  return process_id;
}

// Describes the whole allocation around a storage. Memory that was opened here is described as its owner described it.
Result ShareMemoryBinding(CudaContext* self, ShareRequest* message, Device* device) {
  message->is_shareable = 0;
  Storage* storage = GetHeld(self->instance, message->handle);
  if (storage == nullptr) return kInvalidHandle;
  ContextScope scope(device);
  Location location;
  const Address address = reinterpret_cast<Address>(storage->data);
  Result result = FindLocation(address, &location);
  if (result != kSuccess || location.kind != kDLCUDA) return result;
  const auto describe = [&](const IpcHandle& handle, uint64_t process, Address start, uint64_t size) {
    memcpy(message->ipc_handle, &handle, sizeof(handle));
    message->process = process;
    message->size = static_cast<double>(size);
    message->offset = static_cast<double>(address - start);
    message->ordinal = location.ordinal;
    message->is_shareable = 1;
    return kSuccess;
  };
  {
    platform::MutexScope lock(&mutex);
    const Mapping* mapping = MappingAround(address);
    if (mapping != nullptr) {
      return describe(mapping->handle, mapping->process, mapping->start,
                      mapping->location.size - (mapping->start - mapping->location.start));
    }
  }
  uint32_t is_capable = 0;
  PointerAttribute attribute = kPointerIsIpcCapable;
  void* value = &is_capable;
  result = driver.PointerGetAttributes(1, &attribute, &value, address);
  if (result != kSuccess || is_capable == 0) return result;
  RelaxedScope relaxed;
  IpcHandle handle;
  result = driver.IpcGetMemHandle(&handle, location.start);
  return result == kSuccess ? describe(handle, ProcessId(), location.start, location.size) : result;
}

Result ShareEventBinding(ShareEventRequest* message, const Device*) {
  IpcHandle handle = {};
  const Result result = driver.IpcGetEventHandle(&handle, EventOf(message));
  memcpy(message->ipc_handle, &handle, sizeof(handle));
  return result;
}

// A storage over a part of the memory that another process shared. The memory is mapped once for all storages, until
// the last of them is destroyed. NULL with the reason in `result`; success there means that the memory is too small.
Storage* OpenMemory(const Device* device, const OpenRequest* message, Result* result) {
  const uint64_t offset = static_cast<uint64_t>(message->offset);
  const uint64_t nbytes = static_cast<uint64_t>(message->nbytes);
  Storage* storage = WrapStorage(nullptr, nbytes, DestroyMapped, nullptr, 0);
  *result = storage == nullptr ? kOutOfDeviceMemory : kSuccess;
  if (storage == nullptr) return nullptr;
  const IpcHandle handle = ReadHandle(message->ipc_handle);
  platform::MutexScope scope(&mutex);
  Mapping* mapping = FindMapping(device, handle);
  if (mapping == nullptr) mapping = Map(device, handle, message->process, result);
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

Result OpenMemoryBinding(CudaContext* self, OpenRequest* message, Device* device) {
  const bool is_ours = message->process == ProcessId();
  message->outcome = is_ours ? 2 : 0;
  if (is_ours || !IsSize(message->offset) || !IsSize(message->nbytes)) return kSuccess;
  Result result;
  Storage* storage = OpenMemory(device, message, &result);
  if (storage == nullptr) return result;
  message->outcome = 1;
  return HoldIn(self, storage, false, message);
}

// Work that is queued on the memory from now on starts after the event of another process.
Result FollowEventBinding(Storage* storage, const StreamRef& stream, FollowEventRequest* message) {
  RelaxedContextScope scope(stream.device);
  EventHandle event = nullptr;
  Result result = scope.result();
  if (result == kSuccess) result = driver.IpcOpenEventHandle(&event, ReadHandle(message->ipc_handle));
  if (result != kSuccess) return result;
  // A graph cannot wait for work outside of it, so this waits until that work is done before it is recorded.
  result =
      IsCapturing(stream.handle) ? driver.EventSynchronize(event) : driver.StreamWaitEvent(stream.handle, event, 0);
  // The driver keeps the data of the event that it still needs.
  driver.EventDestroy(event);
  return result == kSuccess ? NoteReady(storage, stream) : result;
}

}  // namespace

const NamedFunction kIpcFunctions[] = {{"shareMemory", DeviceBinding<ShareMemoryBinding>::Call},
                                       {"shareEvent", DeviceBinding<ShareEventBinding>::Call},
                                       {"openMemory", DeviceBinding<OpenMemoryBinding>::Call},
                                       {"followEvent", DeviceBinding<FollowEventBinding>::Call},
                                       {}};

}  // namespace dlpack::cuda
