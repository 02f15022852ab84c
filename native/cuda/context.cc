#include "context.h"

#include <stdlib.h>
#include <string.h>

#include "../bindings.h"
#include "../exports.h"
#include "copies/pinned_blocks.h"
#include "memory/memory.h"

namespace dlpack {
namespace cuda {

void ReleaseOwned(const Owned& owned) {
  if (owned.stream != nullptr) {
    ReleaseStream(owned.stream);
  } else {
    ReleaseEvent(owned.event);
  }
}

void ReleaseEvent(Event* event) {
  if (event->refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  {
    RelaxedContextScope scope(event->device);
    driver.EventDestroy(event->handle);
  }
  free(event);
}

// Properties of a device, as DeviceProperties of src/cuda/binding.ts.
static napi_value DescribeDevice(CudaContext*, napi_env env, int32_t id) {
  Ordinal ordinal = 0;
  char name[256] = {};
  size_t bytes = 0;
  Uuid uuid = {};
  Result result = driver.DeviceGet(&ordinal, id);
  if (result == kSuccess) result = driver.DeviceGetName(name, sizeof(name) - 1, ordinal);
  if (result == kSuccess) result = driver.DeviceTotalMem(&bytes, ordinal);
  if (result == kSuccess) result = driver.DeviceGetUuid(&uuid, ordinal);
  const auto attribute = [&](DeviceAttribute wanted) {
    int32_t value = 0;
    if (result == kSuccess) result = driver.DeviceGetAttribute(&value, wanted, ordinal);
    return value;
  };
  const int32_t major = attribute(kComputeMajor);
  const int32_t minor = attribute(kComputeMinor);
  const int32_t multiprocessors = attribute(kMultiprocessorCount);
  const bool has_managed = attribute(kManagedMemory) != 0;
  const bool has_concurrent = attribute(kConcurrentManagedAccess) != 0;
  const bool has_pool = attribute(kMemoryPoolsSupported) != 0;
  return Answer(env, result,
                {NewText(env, name), NewHex(env, &uuid, sizeof(uuid)), NewNumber(env, static_cast<double>(bytes)),
                 NewNumber(env, major), NewNumber(env, minor), NewNumber(env, multiprocessors),
                 NewBoolean(env, has_managed), NewBoolean(env, has_concurrent), NewBoolean(env, has_pool)});
}

// [name, text] of an error.
static napi_value DescribeError(CudaContext*, napi_env env, Result code) {
  const char* name = nullptr;
  const char* text = nullptr;
  driver.GetErrorName(code, &name);
  driver.GetErrorString(code, &text);
  return NewArray(env, {NewText(env, name == nullptr ? "CUDA_ERROR_UNKNOWN" : name),
                        NewText(env, text == nullptr ? "unknown error" : text)});
}

static int32_t CountDevices(CudaContext*, napi_env) { return DeviceCount(); }

static bool IsUsedBinding(CudaContext*, napi_env, int32_t id) { return IsUsed(id); }

// The path that the driver was loaded from, on any thread; empty for the system's driver.
static napi_value DriverPathBinding(CudaContext*, napi_env env) { return NewText(env, DriverPath()); }

// [free, total] bytes.
static napi_value MemoryInfoBinding(CudaContext*, napi_env env, Device* device) {
  ContextScope scope(device);
  size_t free_bytes = 0;
  size_t total = 0;
  const Result result = driver.MemGetInfo(&free_bytes, &total);
  return Answer(env, result,
                {NewNumber(env, static_cast<double>(free_bytes)), NewNumber(env, static_cast<double>(total))});
}

static Result TrimBinding(CudaContext*, Device* device) { return TrimPool(device); }

static const NamedFunction kContextFunctions[] = {
    {"driverPath", Binding<DriverPathBinding>::Call}, {"countDevices", Binding<CountDevices>::Call},
    {"isUsed", Binding<IsUsedBinding>::Call},         {"describeDevice", Binding<DescribeDevice>::Call},
    {"describeError", Binding<DescribeError>::Call},  {"memoryInfo", DeviceBinding<MemoryInfoBinding>::Call},
    {"trim", DeviceBinding<TrimBinding>::Call},       {}};

// Contexts of this thread. JavaScript thread.
static thread_local int context_count = 0;

// The environment ends. JavaScript thread.
static void Destroy(void* data) {
  CudaContext* self = static_cast<CudaContext*>(data);
  self->owned.Clear(ReleaseOwned);
  free(self);
  FreeIdlePinned(false);  // the timer that would do it ends with the environment
  if (--context_count > 0) return;
  // The next environment on this thread starts with the default stream.
  for (int32_t id = 0; id < kMaxDevices; ++id) SetCurrentStream(id, nullptr);
}

// attachCuda(): the functions of one instance, or a string with the reason of a failure.
static napi_value Attach(napi_env env, Instance* instance) {
  napi_value result;
  CudaContext* self = static_cast<CudaContext*>(calloc(1, sizeof(CudaContext)));
  if (self == nullptr || napi_create_object(env, &result) != napi_ok) {
    free(self);
    return NewText(env, "out of memory");
  }
  self->instance = instance;
  ++context_count;
  napi_add_env_cleanup_hook(env, Destroy, self);
  if (DefineFunctions(
          env, result,
          {kContextFunctions, kMemoryFunctions, kCastFunctions, kUploadFunctions, kIpcFunctions, kStreamFunctions},
          self))
    return result;
  return NewText(env, "its functions could not be defined");
}

}  // namespace cuda

napi_value LoadCuda(napi_env env, napi_callback_info info) { return LoadFrom(env, info, cuda::LoadDriver); }

napi_value AttachCuda(napi_env env, napi_callback_info info) { return cuda::Attach(env, DataOf<Instance>(env, info)); }

}  // namespace dlpack
