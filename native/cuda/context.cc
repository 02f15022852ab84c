#include "context.h"

#include <stdlib.h>
#include <string.h>

#include "../bindings.h"
#include "../exports.h"
#include "memory.h"
#include "pinned_blocks.h"

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

// Returns the name of a device. The message gets all other properties.
static napi_value DescribeDevice(CudaContext*, DeviceDescription* message, napi_env env) {
  Ordinal ordinal = 0;
  char name[256] = {};
  size_t bytes = 0;
  Result result = driver.DeviceGet(&ordinal, message->device);
  if (result == kSuccess) result = driver.DeviceGetName(name, sizeof(name) - 1, ordinal);
  if (result == kSuccess) result = driver.DeviceTotalMem(&bytes, ordinal);
  const struct {
    DeviceAttribute attribute;
    int32_t* value;
  } attributes[] = {
      {kComputeMajor, &message->compute_major},
      {kComputeMinor, &message->compute_minor},
      {kMultiprocessorCount, &message->multiprocessors},
      {kManagedMemory, &message->has_managed_memory},
      {kConcurrentManagedAccess, &message->has_concurrent_managed_access},
      {kMemoryPoolsSupported, &message->has_memory_pool},
  };
  for (const auto& wanted : attributes) {
    if (result == kSuccess) result = driver.DeviceGetAttribute(wanted.value, wanted.attribute, ordinal);
  }
  Uuid uuid = {};
  if (result == kSuccess) result = driver.DeviceGetUuid(&uuid, ordinal);
  memcpy(message->uuid, &uuid, sizeof(uuid));
  message->total_memory = static_cast<double>(bytes);
  message->status = result;
  return NewText(env, name);
}

// [name, text] of an error.
static napi_value DescribeError(CudaContext*, napi_env env, napi_value error) {
  const char* name = nullptr;
  const char* text = nullptr;
  const Result code = static_cast<Result>(NumberIn(env, error));
  driver.GetErrorName(code, &name);
  driver.GetErrorString(code, &text);
  napi_value pair = nullptr;
  if (napi_create_array_with_length(env, 2, &pair) != napi_ok) return nullptr;
  napi_set_element(env, pair, 0, NewText(env, name == nullptr ? "CUDA_ERROR_UNKNOWN" : name));
  napi_set_element(env, pair, 1, NewText(env, text == nullptr ? "unknown error" : text));
  return pair;
}

static napi_value CountDevices(CudaContext*, napi_env env) { return NewNumber(env, DeviceCount()); }

// The path that the driver was loaded from, on any thread; empty for the system's driver.
static napi_value DriverPathBinding(CudaContext*, napi_env env) { return NewText(env, DriverPath()); }

static Result MemoryInfoBinding(MemoryInfo* message, const Device*) {
  size_t free_bytes = 0;
  size_t total = 0;
  const Result result = driver.MemGetInfo(&free_bytes, &total);
  message->free = static_cast<double>(free_bytes);
  message->total = static_cast<double>(total);
  return result;
}

static Result Trim(CudaContext*, DeviceRequest*, Device* device) { return TrimPool(device); }

static const NamedFunction kContextFunctions[] = {{"driverPath", Binding<DriverPathBinding>::Call},
                                                  {"countDevices", Binding<CountDevices>::Call},
                                                  {"describeDevice", Binding<DescribeDevice>::Call},
                                                  {"describeError", Binding<DescribeError>::Call},
                                                  {"memoryInfo", DeviceBinding<MemoryInfoBinding>::Call},
                                                  {"trim", DeviceBinding<Trim>::Call},
                                                  {}};

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
