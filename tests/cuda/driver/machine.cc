// The machine itself: devices, primary contexts, errors and the entry of every call.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <atomic>
#include <chrono>

#include "state.h"

namespace fake {

using namespace dlpack::cuda;

Machine& machine() {
  // Never destroyed, because threads may call the driver while the process exits.
  static Machine* const instance = new Machine();
  return *instance;
}

namespace {
std::atomic<uint64_t> next_thread{1};
std::atomic<uint64_t> generation{1};
}  // namespace

Thread& thread() {
  static thread_local Thread instance{next_thread.fetch_add(1), {}, kCaptureGlobal, 0};
  // A reset of the machine has destroyed the contexts.
  if (instance.generation != generation.load()) {
    instance.contexts.clear();
    instance.mode = kCaptureGlobal;
    instance.generation = generation.load();
  }
  return instance;
}

void NewGeneration() { generation.fetch_add(1); }

PrimaryContext* Current() { return thread().contexts.empty() ? nullptr : thread().contexts.back(); }

double Now() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void Report(const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (machine().errors.size() < 1000) machine().errors.push_back(text);
}

void SetDevices(int count) {
  Machine& m = machine();
  m.devices.clear();
  for (int i = 0; i < count; ++i) {
    auto device = std::make_unique<Device>();
    device->context.device = i;
    device->uuid = i;
    device->context.legacy = NewStream(&device->context, true);
    device->context.legacy->legacy = true;
    device->attributes = {{kMultiprocessorCount, 132}, {kUnifiedAddressing, 1}, {kComputeMajor, 9},
                          {kComputeMinor, 0},          {kManagedMemory, 1},     {kConcurrentManagedAccess, 1},
                          {kMemoryPoolsSupported, 1}};
    m.devices.push_back(std::move(device));
  }
}

Call::Call(const char* symbol, Needs needs) : lock(machine().mutex), code(kSuccess) {
  Machine& m = machine();
  m.calls[symbol] += 1;
  const auto interruption = m.interruptions.find(symbol);
  if (interruption != m.interruptions.end()) {
    const std::function<void()> run = interruption->second;
    m.interruptions.erase(interruption);
    lock.unlock();
    run();
    lock.lock();
  }
  const auto injected = m.injections.find(symbol);
  if (injected != m.injections.end() && injected->second.skip-- <= 0) {
    code = injected->second.code;
    m.injections.erase(injected);
    return;
  }
  if (!m.initialised && needs != Needs::kNothing) {
    code = kNotInitialized;
  } else if (needs == Needs::kContext && Current() == nullptr) {
    code = kInvalidContext;
  } else if (needs == Needs::kContext) {
    code = Current()->failure;
  }
}

}  // namespace fake

using namespace fake;
using namespace dlpack::cuda;

namespace {
Device* DeviceOf(Ordinal ordinal) {
  auto& devices = machine().devices;
  return ordinal < 0 || static_cast<size_t>(ordinal) >= devices.size() ? nullptr : devices[ordinal].get();
}

PrimaryContext* ContextOf(void* handle) {
  for (const auto& device : machine().devices) {
    if (&device->context == handle) return &device->context;
  }
  return nullptr;
}

struct ErrorText {
  Result code;
  const char* name;
  const char* text;
};
const ErrorText kErrors[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {4, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {205, "CUDA_ERROR_MAP_FAILED", "mapping of buffer object failed"},
    {208, "CUDA_ERROR_ALREADY_MAPPED", "resource already mapped"},
    {218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {600, "CUDA_ERROR_NOT_READY", "device not ready"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {702, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"},
    {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "operation failed due to a previous error during capture"},
    {904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work"},
    {905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "dependency created on uncaptured work in another stream"},
    {906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {907, "CUDA_ERROR_CAPTURED_EVENT", "operation not permitted on an event last recorded in a capturing stream"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

Result ErrorField(const char* symbol, Result error, const char** text, const char* ErrorText::* field) {
  ENTER(symbol, Needs::kNothing);
  for (const ErrorText& row : kErrors) {
    if (row.code == error) {
      *text = row.*field;
      return kSuccess;
    }
  }
  *text = nullptr;
  return kInvalidValue;
}
}  // namespace

FAKE_EXPORT(Init, cuInit)(uint32_t flags) {
  ENTER("cuInit", Needs::kNothing);
  if (flags != 0) return kInvalidValue;
  if (machine().devices.empty()) return kNoDevice;
  machine().initialised = true;
  return kSuccess;
}

FAKE_EXPORT(DriverGetVersion, cuDriverGetVersion)(int32_t* version) {
  ENTER("cuDriverGetVersion", Needs::kNothing);
  *version = machine().version;
  return kSuccess;
}

FAKE_EXPORT(GetErrorName, cuGetErrorName)(Result error, const char** text) {
  return ErrorField("cuGetErrorName", error, text, &ErrorText::name);
}

FAKE_EXPORT(GetErrorString, cuGetErrorString)(Result error, const char** text) {
  return ErrorField("cuGetErrorString", error, text, &ErrorText::text);
}

FAKE_EXPORT(DeviceGetCount, cuDeviceGetCount)(int32_t* count) {
  ENTER("cuDeviceGetCount", Needs::kInit);
  *count = static_cast<int32_t>(machine().devices.size());
  return kSuccess;
}

FAKE_EXPORT(DeviceGet, cuDeviceGet)(Ordinal* device, int32_t index) {
  ENTER("cuDeviceGet", Needs::kInit);
  if (DeviceOf(index) == nullptr) return kInvalidDevice;
  *device = index;
  return kSuccess;
}

FAKE_EXPORT(DeviceGetName, cuDeviceGetName)(char* name, int32_t length, Ordinal device) {
  ENTER("cuDeviceGetName", Needs::kInit);
  if (DeviceOf(device) == nullptr) return kInvalidDevice;
  if (length <= 0) return kInvalidValue;
  snprintf(name, static_cast<size_t>(length), "Fake Device %d", device);
  return kSuccess;
}

FAKE_EXPORT(DeviceTotalMem, cuDeviceTotalMem_v2)(size_t* bytes, Ordinal device) {
  ENTER("cuDeviceTotalMem_v2", Needs::kInit);
  if (DeviceOf(device) == nullptr) return kInvalidDevice;
  *bytes = DeviceOf(device)->limit;
  return kSuccess;
}

FAKE_EXPORT(DeviceGetAttribute, cuDeviceGetAttribute)(int32_t* value, DeviceAttribute attribute, Ordinal device) {
  ENTER("cuDeviceGetAttribute", Needs::kInit);
  if (DeviceOf(device) == nullptr) return kInvalidDevice;
  const auto& attributes = DeviceOf(device)->attributes;
  const auto found = attributes.find(attribute);
  if (found == attributes.end()) return kInvalidValue;
  *value = found->second;
  return kSuccess;
}

FAKE_EXPORT(DeviceGetUuid, cuDeviceGetUuid_v2)(Uuid* uuid, Ordinal device) {
  ENTER("cuDeviceGetUuid_v2", Needs::kInit);
  if (DeviceOf(device) == nullptr) return kInvalidDevice;
  memset(uuid->bytes, 0xFA, sizeof uuid->bytes);
  uuid->bytes[15] = static_cast<char>(DeviceOf(device)->uuid);
  return kSuccess;
}

FAKE_EXPORT(DevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain)(dlpack::cuda::Context* context, Ordinal device) {
  ENTER("cuDevicePrimaryCtxRetain", Needs::kInit);
  if (DeviceOf(device) == nullptr) return kInvalidDevice;
  DeviceOf(device)->context.retained += 1;
  *context = &DeviceOf(device)->context;
  return kSuccess;
}

FAKE_EXPORT(CtxGetCurrent, cuCtxGetCurrent)(dlpack::cuda::Context* context) {
  ENTER("cuCtxGetCurrent", Needs::kInit);
  *context = Current();
  return kSuccess;
}

FAKE_EXPORT(CtxPushCurrent, cuCtxPushCurrent_v2)(dlpack::cuda::Context context) {
  ENTER("cuCtxPushCurrent_v2", Needs::kInit);
  PrimaryContext* known = ContextOf(context);
  if (known == nullptr || known->retained == 0) return kInvalidContext;
  thread().contexts.push_back(known);
  return kSuccess;
}

FAKE_EXPORT(CtxPopCurrent, cuCtxPopCurrent_v2)(dlpack::cuda::Context* context) {
  ENTER("cuCtxPopCurrent_v2", Needs::kInit);
  if (Current() == nullptr) return kInvalidContext;
  if (context != nullptr) *context = Current();
  thread().contexts.pop_back();
  return kSuccess;
}

FAKE_EXPORT(CtxSynchronize, cuCtxSynchronize)() {
  ENTER("cuCtxSynchronize");
  const Result forbidden = ForbiddenToAll("cuCtxSynchronize");
  return forbidden != kSuccess ? forbidden : AwaitContext(call.lock, Current(), "cuCtxSynchronize");
}
