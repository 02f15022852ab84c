// Device memory and copies for JavaScript. JavaScript thread.
#include <stdlib.h>

#include "../../async_work.h"
#include "../../bindings.h"
#include "../context.h"
#include "../copies/copy.h"
#include "../streams/imports.h"
#include "../streams/uses.h"
#include "../wire_layout.h"
#include "memory.h"

namespace dlpack::cuda {

static uint32_t HoldIn(const CudaContext* self, Storage* storage, bool report, Result* result) {
  if (storage == nullptr) return 0;
  const uint32_t handle = Hold(self->instance, storage, report);
  if (handle == 0) *result = kOutOfDeviceMemory;
  return handle;
}

// With a message, because programs allocate in loops and a block that is kept takes less time than the arguments.
static void AllocateBinding(CudaContext* self, DeviceAllocation* message) {
  Result result = kInvalidValue;
  Device* device = GetDevice(message->device, &result);
  if (device != nullptr && IsSize(message->nbytes)) {
    const auto type = static_cast<DLDeviceType>(message->device_type);
    const StreamHandle stream = Normalize(reinterpret_cast<StreamHandle>(message->stream));
    Storage* storage = AllocateMemory(type, device, static_cast<uint64_t>(message->nbytes), stream, &result);
    // Only memory that uses host memory is reported to the garbage collector, not device memory.
    message->handle = HoldIn(self, storage, type != kDLCUDA, &result);
  }
  message->status = result;
}

// allocateShareable(device, nbytes): [handle] of device memory that other processes can open.
static napi_value AllocateShareableBinding(CudaContext* self, napi_env env, Device* device, double nbytes) {
  if (!IsSize(nbytes)) return NewNumber(env, kInvalidValue);
  Result result;
  Storage* storage = AllocateShareable(device, static_cast<uint64_t>(nbytes), &result);
  const uint32_t handle = HoldIn(self, storage, false, &result);
  return Answer(env, result, {NewNumber(env, handle)});
}

// clear(device, handle, stream, nbytes): fills the last bytes of a storage with zero bits, on the stream.
static Result ClearBinding(Storage* storage, const StreamRef& stream, double nbytes) {
  if (!IsSize(nbytes) || nbytes > static_cast<double>(storage->nbytes)) return kInvalidValue;
  const size_t count = static_cast<size_t>(nbytes);
  if (count == 0) return kSuccess;
  const Address start = reinterpret_cast<Address>(storage->data) + storage->nbytes - count;
  return UseOnStream(stream, {storage}, [&] { return driver.MemsetD8Async(start, 0, count, stream.handle); });
}

// handOver(device, handle, stream): makes the storage ready for work on the stream from now on.
static Result HandOverBinding(Storage* storage, const StreamRef& stream) { return Lend(storage, stream); }

// A side of a copy: the handle of a storage, or a Uint8Array.
struct CopySide {
  CopySide(const CudaContext* self, napi_env env, napi_value value, int32_t type)
      : memory(self->instance, NumberIn(env, value), value), is_host(type == kDLCPU) {}
  CopySide(const CudaContext* self, uint32_t handle, int32_t type)
      : memory(self->instance, handle, nullptr), is_host(type == kDLCPU) {}

  // The storage, if it has uses. Plain host memory has none, because the caller waits for the copy or keeps the memory.
  Storage* used() const { return is_host ? nullptr : memory.storage; }

  NamedMemory memory;
  bool is_host;
};

// The numbers of a copy, in the order of src/cuda/copies/copy.ts. For each axis follow its length and both steps, in
// bytes.
enum StepNumber { kFromOffset, kToOffset, kItemBytes, kFirstAxis };
enum AxisNumber { kLength, kFromStep, kToStep, kAxisNumbers };

static bool ReadStep(const Elements<double>& numbers, const CopySide& source, const CopySide& target,
                     DeviceCopy* request) {
  if (!source.memory.is_valid() || !target.memory.is_valid() || numbers.length < kFirstAxis) return false;
  const size_t ndim = (numbers.length - kFirstAxis) / kAxisNumbers;
  int64_t offsets[kFirstAxis];
  if (ndim > static_cast<size_t>(kMaxNdim) || !ReadNumbers(numbers.data, kFirstAxis, offsets)) return false;
  const auto [from, to, item] = offsets;
  if (from < 0 || to < 0 || item < 1 || item > 16 || (item & (item - 1)) != 0) return false;
  request->item = item;
  request->ndim = static_cast<int32_t>(ndim);
  request->is_source_reachable = !source.is_host;
  request->is_target_reachable = !target.is_host;
  for (size_t i = 0; i < ndim; ++i) {
    int64_t axis[kAxisNumbers];
    if (!ReadNumbers(numbers.data + kFirstAxis + i * kAxisNumbers, kAxisNumbers, axis) || axis[kLength] < 1)
      return false;
    request->shape[i] = axis[kLength];
    request->source_steps[i] = axis[kFromStep];
    request->target_steps[i] = axis[kToStep];
  }
  if (!FitsInside(request->ndim, request->shape, request->source_steps, from, item, source.memory.nbytes) ||
      !FitsInside(request->ndim, request->shape, request->target_steps, to, item, target.memory.nbytes)) {
    return false;
  }
  request->source = reinterpret_cast<char*>(source.memory.data + from);
  request->target = reinterpret_cast<char*>(target.memory.data + to);
  return true;
}

// copy(device, stream, source, sourceType, target, targetType, numbers): queues a copy and returns the CUresult.
static napi_value CopyBinding(CudaContext* self, napi_env env, Device* device, StreamHandle handle, napi_value from,
                              int32_t from_type, napi_value to, int32_t to_type, Elements<double> numbers) {
  const CopySide source(self, env, from, from_type), target(self, env, to, to_type);
  DeviceCopy request;
  if (!ReadStep(numbers, source, target, &request)) return NewNumber(env, kInvalidValue);
  const StreamRef stream = {device, Normalize(handle)};
  return NewNumber(env, UseOnStream(stream, {source.used(), target.used()},
                                    [&] { return QueueCopy(device, request, stream.handle); }));
}

// Keeps both storages.
struct AsyncCopy {
  Device* device;
  StreamHandle stream;
  DeviceCopy request;
  Storage* source;
  Storage* target;
  AsyncWork work;
  Result result;

  // On a thread of the runtime's pool, because the driver blocks while it copies memory that the device cannot access.
  void Run() {
    RelaxedContextScope scope(device);
    result = scope.result();
    if (result == kSuccess) result = QueueCopy(device, request, stream);
    if (result != kSuccess) return;
    EventHandle event = RecordEvent(device, stream, &result);
    if (event == nullptr) {
      // If the host memory is pinned by other code, the device may still read or write it.
      driver.StreamSynchronize(stream);
      return;
    }
    result = driver.EventSynchronize(event);
    driver.EventDestroy(event);
  }
  napi_value ResultOf(napi_env env, napi_status) { return NewNumber(env, result); }
  void Free() {
    ReleaseStorage(source);
    ReleaseStorage(target);
    free(this);
  }
};

// copyAsync, with the arguments of copy: copies between two storages, one of them in plain host memory. A promise of
// the CUresult, or the CUresult if the copy did not start.
static napi_value CopyAsyncBinding(CudaContext* self, napi_env env, Device* device, StreamHandle handle, uint32_t from,
                                   int32_t from_type, uint32_t to, int32_t to_type, Elements<double> numbers) {
  const CopySide source(self, from, from_type), target(self, to, to_type);
  DeviceCopy request;
  void* block = ReadStep(numbers, source, target, &request) ? malloc(sizeof(AsyncCopy)) : nullptr;
  if (block == nullptr) return NewNumber(env, kInvalidValue);
  // On a thread of the pool the per-thread handle would mean that thread's stream.
  const StreamHandle stream = Normalize(handle) == kPerThreadStream ? kLegacyStream : Normalize(handle);
  AsyncCopy* copy = static_cast<AsyncCopy*>(block);
  *copy = AsyncCopy{device, stream, request, source.memory.storage, target.memory.storage, {}, kNotReady};
  RetainStorage(copy->source);
  RetainStorage(copy->target);
  Result result = kSuccess;
  for (Storage* storage : {source.used(), target.used()}) {
    if (result == kSuccess && storage != nullptr) result = BeginUse(storage, {device, stream});
  }
  return QueueJob(env, copy, result);
}

// pointerAttributes(address): as DriverAttributes of src/cuda/binding.ts.
static napi_value PointerAttributesBinding(CudaContext*, napi_env env, Address address) {
  uint64_t context = 0, device_pointer = 0, host_pointer = 0, range_start = 0, range_size = 0;
  uint32_t memory_type = 0, is_managed = 0;
  int32_t ordinal = -1;
  PointerAttribute attributes[] = {kPointerContext,   kPointerMemoryType,    kPointerDevice,     kPointerHost,
                                   kPointerIsManaged, kPointerDeviceOrdinal, kPointerRangeStart, kPointerRangeSize};
  void* values[] = {&context,    &memory_type, &device_pointer, &host_pointer,
                    &is_managed, &ordinal,     &range_start,    &range_size};
  const Result result = driver.PointerGetAttributes(8, attributes, values, address);
  Result found;
  const bool is_known = result == kSuccess && memory_type != 0;
  const Device* owner = is_known && ordinal > 0 ? GetDevice(ordinal, &found) : nullptr;
  if (owner != nullptr) {
    // The driver knows the device pointer only in the device's context.
    ContextScope owner_scope(owner);
    driver.PointerGetAttributes(1, &attributes[2], &values[2], address);
  }
  return Answer(env, result,
                {NewNumber(env, memory_type), NewNumber(env, ordinal), NewBoolean(env, is_managed != 0),
                 NewBigInt(env, context), NewBigInt(env, device_pointer), NewBigInt(env, host_pointer),
                 NewBigInt(env, range_start), NewBigInt(env, range_size)});
}

// admit(handle, address, low, high, stream): gives a storage of the CUDA Array Interface its memory, from `low` bytes
// before to `high` bytes after the address, if it lies inside one allocation; see Admitted of src/cuda/binding.ts. Our
// stream waits for the producer's stream, unless that is 0.
static napi_value AdmitBinding(CudaContext* self, napi_env env, uint32_t handle, Address address, double low,
                               double high, StreamHandle stream) {
  Storage* storage = GetHeld(self->instance, handle);
  Location location;
  Result result = storage == nullptr ? kInvalidHandle : FindLocation(address, &location);
  if (result == kSuccess && !(low <= 0 && high >= 0 && IsCountable(low) && IsCountable(high))) result = kInvalidValue;
  if (result != kSuccess) return NewNumber(env, result);
  // Pinned and managed memory belongs to no device. Work on it is queued on a stream of device 0.
  const int32_t id = location.kind == kDLCUDA ? location.ordinal : 0;
  const uint64_t below = static_cast<uint64_t>(-low);
  const uint64_t above = static_cast<uint64_t>(high);
  const uint64_t before = address - location.start;
  uint64_t end;
  const bool fits =
      location.kind != 0 && !__builtin_add_overflow(address, above, &end) &&
      (location.size == 0 || (below <= before && before <= location.size && above <= location.size - before));
  if (fits) {
    storage->data = reinterpret_cast<void*>(address - below);
    storage->nbytes = below + above;
    result = FollowProducer(storage, location.ordinal, id, stream);
  }
  return Answer(env, result,
                {NewNumber(env, location.kind), NewNumber(env, id), NewBoolean(env, fits),
                 NewBigInt(env, location.start), NewBigInt(env, location.size)});
}

// follow(device, handle, stream): for a storage of foreign memory that is ready for work queued on the stream from now
// on. Our current stream of the device waits for that stream, and our work on other streams waits for our current
// stream.
static Result FollowBinding(Storage* storage, const StreamRef& stream) {
  return FollowProducer(storage, stream.device->id, stream.device->id, stream.handle);
}

const NamedFunction kMemoryFunctions[] = {{"allocate", Binding<AllocateBinding>::Call},
                                          {"allocateShareable", DeviceBinding<AllocateShareableBinding>::Call},
                                          {"clear", DeviceBinding<ClearBinding>::Call},
                                          {"copy", DeviceBinding<CopyBinding>::Call},
                                          {"copyAsync", DeviceBinding<CopyAsyncBinding>::Call},
                                          {"handOver", DeviceBinding<HandOverBinding>::Call},
                                          {"pointerAttributes", Binding<PointerAttributesBinding>::Call},
                                          {"admit", Binding<AdmitBinding>::Call},
                                          {"follow", DeviceBinding<FollowBinding>::Call},
                                          {}};

}  // namespace dlpack::cuda
