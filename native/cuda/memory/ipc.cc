// Memory and events of other processes of this machine, by handles of the driver. JavaScript thread, except
// DestroyMapped.
#include <stdlib.h>
#include <string.h>

#include "../../platform/platform.h"
#include "../context.h"
#include "../streams/imports.h"
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
  Count(Counter::kImports, -1);
  {
    platform::MutexScope scope(&mutex);
    Mapping* mapping = static_cast<Mapping*>(self->owner);
    if (--mapping->count == 0) Unmap(mapping);
  }
  FreeStorage(self);
}

// A handle that JavaScript gives by its hexadecimal digits.
struct IpcDigits {
  IpcDigits(napi_env env, napi_value digits) : is_valid(ReadHex(env, digits, &handle, sizeof(handle))) {}
  IpcHandle handle;
  bool is_valid;
};

// A number that identifies this process on the machine. Process numbers of the system are not enough, because they
// repeat between containers.
uint64_t ProcessId() {
  platform::MutexScope scope(&mutex);
  if (process_id != 0) return process_id;
  // Process numbers have at most 22 bits.
  process_id = uint64_t{platform::ProcessNumber()} << 42 | (platform::WallNanoseconds() & ((uint64_t{1} << 42) - 1));
  return process_id;
}

// shareMemory(device, handle): describes the whole allocation around a storage, as SharedRange of src/cuda/binding.ts.
// Memory that was opened here is described as its owner described it. Undefined for memory that cannot be shared.
napi_value ShareMemoryBinding(CudaContext* self, napi_env env, Device* device, uint32_t number) {
  Storage* storage = GetHeld(self->instance, number);
  if (storage == nullptr) return NewNumber(env, kInvalidHandle);
  ContextScope scope(device);
  Location location;
  const Address address = reinterpret_cast<Address>(storage->data);
  Result result = FindLocation(address, &location);
  if (result != kSuccess) return NewNumber(env, result);
  if (location.kind != kDLCUDA) return nullptr;
  const auto describe = [&](const IpcHandle& handle, uint64_t process, Address start, uint64_t size) {
    return NewArray(env,
                    {NewNumber(env, location.ordinal), NewBigInt(env, process), NewHex(env, &handle, sizeof(handle)),
                     NewNumber(env, static_cast<double>(size)), NewNumber(env, static_cast<double>(address - start))});
  };
  // A copy, because JavaScript values must not be made under the mutex: a collector that runs then may release a
  // mapping.
  Mapping mapped = {};
  {
    platform::MutexScope lock(&mutex);
    const Mapping* mapping = MappingAround(address);
    if (mapping != nullptr) mapped = *mapping;
  }
  if (mapped.device != nullptr) {
    return describe(mapped.handle, mapped.process, mapped.start,
                    mapped.location.size - (mapped.start - mapped.location.start));
  }
  uint32_t is_capable = 0;
  PointerAttribute attribute = kPointerIsIpcCapable;
  void* value = &is_capable;
  result = driver.PointerGetAttributes(1, &attribute, &value, address);
  if (result != kSuccess) return NewNumber(env, result);
  if (is_capable == 0) return nullptr;
  RelaxedScope relaxed;
  IpcHandle handle;
  result = driver.IpcGetMemHandle(&handle, location.start);
  return result == kSuccess ? describe(handle, ProcessId(), location.start, location.size) : NewNumber(env, result);
}

// shareEvent(device, event): the digits of its handle for other processes.
napi_value ShareEventBinding(CudaContext*, napi_env env, Device* device, EventHandle event) {
  ContextScope scope(device);
  IpcHandle handle = {};
  const Result result = driver.IpcGetEventHandle(&handle, event);
  return result == kSuccess ? NewHex(env, &handle, sizeof(handle)) : NewNumber(env, result);
}

// A storage over a part of the memory that another process shared. The memory is mapped once for all storages, until
// the last of them is destroyed. NULL with the reason in `result`; success there means that the memory is too small.
Storage* OpenMemory(const Device* device, const IpcHandle& handle, uint64_t process, uint64_t offset, uint64_t nbytes,
                    Result* result) {
  Storage* storage = WrapStorage(nullptr, nbytes, DestroyMapped, nullptr, 0);
  *result = storage == nullptr ? kOutOfDeviceMemory : kSuccess;
  if (storage == nullptr) return nullptr;
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
  Count(Counter::kImports, 1);
  return storage;
}

// openMemory(device, process, memory, offset, nbytes): [handle], [] when the memory is too small, and undefined when it
// belongs to this process.
napi_value OpenMemoryBinding(CudaContext* self, napi_env env, Device* device, uint64_t process, IpcDigits memory,
                             double offset, double nbytes) {
  if (process == ProcessId()) return nullptr;
  if (!memory.is_valid) return NewNumber(env, kInvalidValue);
  if (!IsSize(offset) || !IsSize(nbytes)) return NewArray(env, {});
  Result result;
  Storage* storage =
      OpenMemory(device, memory.handle, process, static_cast<uint64_t>(offset), static_cast<uint64_t>(nbytes), &result);
  if (storage == nullptr) return Answer(env, result, {});
  const uint32_t number = Hold(self->instance, storage, false);
  return Answer(env, number == 0 ? kOutOfDeviceMemory : kSuccess, {NewNumber(env, number)});
}

// followEvent(device, handle, stream, event): work that is queued on the memory from now on starts after the event of
// another process, whose handle is given by its digits.
Result FollowEventBinding(Storage* storage, const StreamRef& stream, IpcDigits digits) {
  if (!digits.is_valid) return kInvalidValue;
  RelaxedContextScope scope(stream.device);
  EventHandle event = nullptr;
  Result result = scope.result();
  if (result == kSuccess) result = driver.IpcOpenEventHandle(&event, digits.handle);
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
