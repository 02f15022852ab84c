#include "context.h"

#include <stdlib.h>
#include <string.h>

#include "../bindings.h"
#include "../exports.h"
#include "memory.h"

namespace dlpack {
namespace cuda {

Owned* AddOwned(CudaContext* self, Stream* stream, Event* event) {
  Owned* owned = static_cast<Owned*>(malloc(sizeof(Owned)));
  if (owned == nullptr) return nullptr;
  *owned = Owned{&self->owned, self->owned.next, stream, event};
  self->owned.next->before = owned;
  self->owned.next = owned;
  return owned;
}

void ReleaseOwned(Owned* owned) {
  owned->before->next = owned->next;
  owned->next->before = owned->before;
  if (owned->stream != nullptr) {
    ReleaseStream(owned->stream);
  } else {
    ReleaseEvent(owned->event);
  }
  free(owned);
}

void ReleaseEvent(Event* event) {
  if (event->refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  {
    ContextScope scope(event->device);
    RelaxedScope relaxed;
    driver.EventDestroy(event->handle);
  }
  free(event);
}

static napi_value Text(napi_env env, const char* text) {
  napi_value value = nullptr;
  napi_create_string_utf8(env, text, NAPI_AUTO_LENGTH, &value);
  return value;
}

// The name of a device; its numbers in the frame, its UUID in the last two.
static napi_value DescribeDevice(napi_env env, napi_callback_info info) {
  CudaFrame* frame = ContextOf(env, info)->frame;
  Ordinal ordinal = 0;
  char name[256] = {};
  size_t bytes = 0;
  Result result = driver.DeviceGet(&ordinal, frame->device);
  if (result == kSuccess) result = driver.DeviceGetName(name, sizeof(name) - 1, ordinal);
  if (result == kSuccess) result = driver.DeviceTotalMem(&bytes, ordinal);
  static const DeviceAttribute kAttributes[] = {
      kComputeMajor,        kComputeMinor, kMultiprocessorCount, kManagedMemory, kConcurrentManagedAccess,
      kMemoryPoolsSupported};
  for (int i = 0; i < 6 && result == kSuccess; ++i) {
    int32_t value = 0;
    result = driver.DeviceGetAttribute(&value, kAttributes[i], ordinal);
    frame->values[i] = static_cast<uint64_t>(value);
  }
  Uuid uuid = {};
  if (result == kSuccess) result = driver.DeviceGetUuid(&uuid, ordinal);
  memcpy(&frame->values[6], &uuid, sizeof(uuid));
  frame->nbytes = static_cast<double>(bytes);
  frame->status = result;
  return Text(env, name);
}

// [name, text] of the error in the frame's status.
static napi_value DescribeError(napi_env env, napi_callback_info info) {
  const Result error = ContextOf(env, info)->frame->status;
  const char* name = nullptr;
  const char* text = nullptr;
  driver.GetErrorName(error, &name);
  driver.GetErrorString(error, &text);
  napi_value pair = nullptr;
  if (napi_create_array_with_length(env, 2, &pair) != napi_ok) return nullptr;
  napi_set_element(env, pair, 0, Text(env, name == nullptr ? "CUDA_ERROR_UNKNOWN" : name));
  napi_set_element(env, pair, 1, Text(env, text == nullptr ? "unknown error" : text));
  return pair;
}

// How many devices there are, and the version of the driver.
static napi_value CountDevices(napi_env env, napi_callback_info info) {
  CudaFrame* frame = ContextOf(env, info)->frame;
  int32_t version = 0;
  frame->status = driver.DriverGetVersion(&version);
  frame->number = version;
  frame->device = DeviceCount();
  return nullptr;
}

// The path that the driver was loaded from, whichever thread loaded it; empty for the system's own.
static napi_value DriverPathBinding(napi_env env, napi_callback_info) { return Text(env, DriverPath()); }

// Free and total bytes of a device.
static napi_value MemoryInfo(napi_env env, napi_callback_info info) {
  return OnDevice(env, info, [](CudaFrame* frame, const Device*) {
    size_t free_bytes = 0;
    size_t total = 0;
    const Result result = driver.MemGetInfo(&free_bytes, &total);
    frame->nbytes = static_cast<double>(free_bytes);
    frame->number = static_cast<double>(total);
    return result;
  });
}

static napi_value Trim(napi_env env, napi_callback_info info) {
  CudaFrame* frame = ContextOf(env, info)->frame;
  Device* device = DeviceOf(frame);
  if (device != nullptr) frame->status = TrimPool(device);
  return nullptr;
}

static const Export kExports[] = {
    {"driverPath", DriverPathBinding},
    {"countDevices", CountDevices},
    {"describeDevice", DescribeDevice},
    {"describeError", DescribeError},
    {"memoryInfo", MemoryInfo},
    {"trim", Trim},
    {"allocate", AllocateBinding},
    {"clear", ClearBinding},
    {"copy", CopyBinding},
    {"copyAsync", CopyAsyncBinding},
    {"handOver", HandOverBinding},
    {"pointerAttributes", PointerAttributesBinding},
    {"admit", AdmitBinding},
    {"follow", FollowBinding},
    {"allocateShareable", AllocateShareableBinding},
    {"shareMemory", ShareMemoryBinding},
    {"shareEvent", ShareEventBinding},
    {"openMemory", OpenMemoryBinding},
    {"followEvent", FollowEventBinding},
    {"createStream", CreateStreamBinding},
    {"createEvent", CreateEventBinding},
    {"releaseOwned", ReleaseOwnedBinding},
    {"setCurrent", SetCurrentBinding},
    {"synchronize", SynchronizeBinding},
    {"query", QueryBinding},
    {"record", RecordBinding},
    {"wait", WaitBinding},
    {"order", OrderBinding},
    {"elapsed", ElapsedBinding},
    {"isCapturing", IsCapturingBinding},
    {"watch", WatchBinding},
};

// The environment ends. JavaScript thread.
static void Destroy(void* data) {
  CudaContext* self = static_cast<CudaContext*>(data);
  while (self->owned.next != &self->owned) ReleaseOwned(self->owned.next);
  // The next environment on this thread starts with the default stream.
  for (int32_t id = 0; id < kMaxDevices; ++id) SetCurrentStream(id, nullptr);
  free(self);
}

}  // namespace cuda

napi_value LoadCuda(napi_env env, napi_callback_info info) {
  napi_value path;
  InstanceOf(env, info, &path);
  char text[4096];
  size_t length = 0;
  if (napi_get_value_string_utf8(env, path, text, sizeof(text), &length) != napi_ok)
    return cuda::Text(env, "not a path");
  const char* problem = cuda::LoadDriver(text);
  return problem == nullptr ? nullptr : cuda::Text(env, problem);
}

napi_value AttachCuda(napi_env env, napi_callback_info info) {
  napi_value frame, result;
  Instance* instance = InstanceOf(env, info, &frame);
  void* data = nullptr;
  size_t length = 0;
  cuda::CudaContext* self = static_cast<cuda::CudaContext*>(calloc(1, sizeof(cuda::CudaContext)));
  if (self == nullptr || napi_get_arraybuffer_info(env, frame, &data, &length) != napi_ok ||
      length < sizeof(cuda::CudaFrame) || napi_create_reference(env, frame, 1, &self->frame_ref) != napi_ok ||
      napi_create_object(env, &result) != napi_ok) {
    free(self);
    napi_throw_error(env, nullptr, "attachCuda needs an ArrayBuffer of the size of the frame");
    return nullptr;
  }
  self->instance = instance;
  self->frame = static_cast<cuda::CudaFrame*>(data);
  self->owned.before = self->owned.next = &self->owned;
  napi_add_env_cleanup_hook(env, cuda::Destroy, self);
  if (!DefineFunctions(env, result, cuda::kExports, self)) {
    napi_throw_error(env, nullptr, "attachCuda could not define its functions");
    return nullptr;
  }
  return result;
}

}  // namespace dlpack
