// An ONNX Runtime with a CUDA provider, for machines without a GPU. It passes calls on to a real library, which
// computes in host memory. Before a run this library copies tensors of a device to the host and after it back, with the
// fake CUDA driver and on the session's stream, so that the driver sees the work that kernels would do.
// The release of a session waits while the file in DEVICE_HOLD exists, and then writes one with `.done` after its name.
// DEVICE_ONNXRUNTIME names the real library and DEVICE_CUDA the driver. The provider option `tell` makes a session fail
// with a text of all options.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "../../../native/onnxruntime/abi.h"

using namespace dlpack::onnxruntime;

namespace {

struct ApiBase {
  void* const* (*GetApi)(uint32_t version);
  const char* (*GetVersionString)();
};

// Positions that the tested package does not use itself.
const int kCreateStatus = 0;
const int kEntries = 415;  // as many as every version has that these tests run with

void* table[kEntries];
void* const* real;

template <class Function>
Function Real(int position) {
  return reinterpret_cast<Function>(real[position]);
}
#define REAL(name, position, result, arguments)            \
  template <class... Values>                               \
  result name(Values... values) {                          \
    return Real<result(*) arguments>(position)(values...); \
  }
namespace passed {
DLPACK_ORT_FUNCTIONS(REAL)
}
#undef REAL

// ---- the fake driver ----

void* driver;
template <class... Arguments>
void Call(const char* name, Arguments... arguments) {
  auto function = reinterpret_cast<int32_t (*)(Arguments...)>(dlsym(driver, name));
  const int32_t result = function(arguments...);
  if (result != 0) fprintf(stderr, "%s returned %d\n", name, result);
}

void* contexts[2];  // of the devices

class DeviceScope {
 public:
  explicit DeviceScope(int32_t device) { Call("cuCtxPushCurrent_v2", contexts[device]); }
  ~DeviceScope() {
    void* context = nullptr;
    Call("cuCtxPopCurrent_v2", &context);
  }
};

// ---- state ----

struct DeviceTensor {
  uint64_t address;
  size_t nbytes;
  bool is_ours;  // allocated here
};

std::recursive_mutex mutex;
std::string options_text;
void* session_stream;  // of the session that was made last
int32_t session_device;
std::set<const OrtMemoryInfo*> device_memory;
// The value is a tensor in host memory, which stands for one on the device.
std::map<const OrtValue*, DeviceTensor> device_tensors;

struct Bound {
  std::vector<const OrtValue*> inputs;
  std::vector<const OrtValue*> outputs;  // NULL for one that was not given
  std::vector<bool> is_on_device;
};
std::map<const OrtIoBinding*, Bound> bound;

typedef std::lock_guard<std::recursive_mutex> Guard;

void* HostOf(const OrtValue* value) {
  void* data = nullptr;
  passed::GetTensorMutableData(const_cast<OrtValue*>(value), &data);
  return data;
}

// Copies as a kernel on the session's stream would read or write.
void Copy(const OrtValue* value, bool to_device) {
  auto found = device_tensors.find(value);
  if (found == device_tensors.end() || found->second.nbytes == 0) return;
  const uint64_t host = reinterpret_cast<uint64_t>(HostOf(value)), there = found->second.address;
  DeviceScope scope(session_device);
  Call("cuMemcpyAsync", to_device ? there : host, to_device ? host : there, found->second.nbytes, session_stream);
  if (!to_device) Call("cuStreamSynchronize", session_stream);
}

OrtStatus* Fail(const char* text) { return Real<OrtStatus* (*)(int32_t, const char*)>(kCreateStatus)(1, text); }

// ---- the provider ----

OrtStatus* CreateCUDAProviderOptions(OrtCudaOptions** options) {
  options_text.clear();
  session_device = 0;
  *options = reinterpret_cast<OrtCudaOptions*>(&options_text);
  return nullptr;
}

OrtStatus* UpdateCUDAProviderOptions(OrtCudaOptions*, const char* const* keys, const char* const* values,
                                     size_t count) {
  for (size_t i = 0; i < count; ++i) {
    options_text += std::string(keys[i]) + "=" + values[i] + " ";
    if (strcmp(keys[i], "device_id") == 0) session_device = atoi(values[i]);
  }
  return nullptr;
}

OrtStatus* UpdateCUDAProviderOptionsWithValue(OrtCudaOptions*, const char* key, void* value) {
  options_text += std::string(key) + "=" + std::to_string(reinterpret_cast<uintptr_t>(value)) + " ";
  session_stream = value;
  return nullptr;
}

OrtStatus* SessionOptionsAppendExecutionProvider_CUDA_V2(OrtSessionOptions*, const OrtCudaOptions*) {
  return options_text.find("tell=") == std::string::npos ? nullptr : Fail(options_text.c_str());
}

void ReleaseCUDAProviderOptions(OrtCudaOptions*) {}

// ---- memory ----

OrtStatus* CreateMemoryInfo(const char* name, int32_t kind, int32_t id, int32_t memory, OrtMemoryInfo** info) {
  if (strcmp(name, "Cuda") != 0) return passed::CreateMemoryInfo(name, kind, id, memory, info);
  OrtStatus* status = passed::CreateCpuMemoryInfo(kind, memory, info);
  Guard guard(mutex);
  device_memory.insert(*info);
  return status;
}

void ReleaseMemoryInfo(OrtMemoryInfo* info) {
  {
    Guard guard(mutex);
    device_memory.erase(info);
  }
  passed::ReleaseMemoryInfo(info);
}

OrtStatus* MemoryInfoGetName(const OrtMemoryInfo* info, const char** name) {
  Guard guard(mutex);
  if (device_memory.count(info) == 0) return passed::MemoryInfoGetName(info, name);
  *name = "Cuda";
  return nullptr;
}

OrtStatus* CreateTensorWithDataAsOrtValue(const OrtMemoryInfo* info, void* data, size_t nbytes, const int64_t* shape,
                                          size_t ndim, int32_t type, OrtValue** value) {
  Guard guard(mutex);
  if (device_memory.count(info) == 0)
    return passed::CreateTensorWithDataAsOrtValue(info, data, nbytes, shape, ndim, type, value);
  OrtAllocator* allocator = nullptr;
  passed::GetAllocatorWithDefaultOptions(&allocator);
  OrtStatus* status = passed::CreateTensorAsOrtValue(allocator, shape, ndim, type, value);
  if (status == nullptr) device_tensors[*value] = {reinterpret_cast<uint64_t>(data), nbytes, false};
  return status;
}

OrtStatus* GetTensorMutableData(OrtValue* value, void** data) {
  Guard guard(mutex);
  auto found = device_tensors.find(value);
  if (found == device_tensors.end()) return passed::GetTensorMutableData(value, data);
  *data = reinterpret_cast<void*>(found->second.address);
  return nullptr;
}

OrtStatus* GetTensorMemoryInfo(const OrtValue* value, const OrtMemoryInfo** info) {
  Guard guard(mutex);
  if (device_tensors.count(value) == 0 || device_memory.empty()) return passed::GetTensorMemoryInfo(value, info);
  *info = *device_memory.begin();
  return nullptr;
}

void ReleaseValue(OrtValue* value) {
  Guard guard(mutex);
  auto found = device_tensors.find(value);
  if (found != device_tensors.end()) {
    if (found->second.is_ours) {
      DeviceScope scope(0);
      Call("cuMemFree_v2", found->second.address);
    }
    device_tensors.erase(found);
  }
  passed::ReleaseValue(value);
}

// ---- runs ----

OrtStatus* BindInput(OrtIoBinding* binding, const char* name, const OrtValue* value) {
  Guard guard(mutex);
  bound[binding].inputs.push_back(value);
  return passed::BindInput(binding, name, value);
}

OrtStatus* BindOutput(OrtIoBinding* binding, const char* name, const OrtValue* value) {
  Guard guard(mutex);
  bound[binding].outputs.push_back(value);
  bound[binding].is_on_device.push_back(false);
  return passed::BindOutput(binding, name, value);
}

OrtStatus* BindOutputToDevice(OrtIoBinding* binding, const char* name, const OrtMemoryInfo* info) {
  Guard guard(mutex);
  bound[binding].outputs.push_back(nullptr);
  bound[binding].is_on_device.push_back(device_memory.count(info) != 0);
  return passed::BindOutputToDevice(binding, name, info);
}

void ReleaseIoBinding(OrtIoBinding* binding) {
  Guard guard(mutex);
  bound.erase(binding);
  passed::ReleaseIoBinding(binding);
}

OrtStatus* RunWithBinding(OrtSession* session, const OrtRunOptions* options, const OrtIoBinding* binding) {
  Guard guard(mutex);
  for (const OrtValue* input : bound[binding].inputs) Copy(input, false);
  OrtStatus* status = passed::RunWithBinding(session, options, binding);
  for (const OrtValue* output : bound[binding].outputs) Copy(output, true);
  return status;
}

OrtStatus* Run(OrtSession* session, const OrtRunOptions* options, const char* const* input_names,
               const OrtValue* const* inputs, size_t input_count, const char* const* output_names, size_t output_count,
               OrtValue** outputs) {
  Guard guard(mutex);
  for (size_t i = 0; i < input_count; ++i) Copy(inputs[i], false);
  OrtStatus* status =
      passed::Run(session, options, input_names, inputs, input_count, output_names, output_count, outputs);
  for (size_t i = 0; i < output_count; ++i) Copy(outputs[i], true);
  return status;
}

// Gives a float32 tensor memory on the device.
void MoveToDevice(const OrtValue* value) {
  OrtTensorInfo* info = nullptr;
  size_t ndim = 0, nbytes = 4;
  int64_t shape[8] = {};
  passed::GetTensorTypeAndShape(value, &info);
  passed::GetDimensionsCount(info, &ndim);
  passed::GetDimensions(info, shape, ndim);
  passed::ReleaseTensorTypeAndShapeInfo(info);
  for (size_t i = 0; i < ndim; ++i) nbytes *= static_cast<size_t>(shape[i]);
  uint64_t address = 0;
  {
    DeviceScope scope(session_device);
    if (nbytes > 0) Call("cuMemAlloc_v2", &address, nbytes);
  }
  device_tensors[value] = {address, nbytes, nbytes > 0};
  Copy(value, true);
}

OrtStatus* GetBoundOutputValues(const OrtIoBinding* binding, OrtAllocator* allocator, OrtValue*** values,
                                size_t* count) {
  Guard guard(mutex);
  OrtStatus* status = passed::GetBoundOutputValues(binding, allocator, values, count);
  for (size_t i = 0; status == nullptr && i < *count; ++i) {
    if (bound[binding].is_on_device[i]) MoveToDevice((*values)[i]);
  }
  return status;
}

void ReleaseSession(OrtSession* session) {
  const char* hold = getenv("DEVICE_HOLD");
  if (hold == nullptr) return passed::ReleaseSession(session);
  for (int i = 0; i < 5000 && access(hold, F_OK) == 0; ++i) usleep(1000);
  passed::ReleaseSession(session);
  const std::string done = std::string(hold) + ".done";
  FILE* file = fopen(done.c_str(), "w");
  if (file != nullptr) fclose(file);
}

const ApiBase* real_base;
ApiBase base;

void* const* GetApi(uint32_t version) {
  real = real_base->GetApi(version);
  if (real == nullptr) return nullptr;
  memcpy(table, real, sizeof(table));
#define REPLACE(name, position) table[position] = reinterpret_cast<void*>(name);
  REPLACE(Run, 9)
  REPLACE(CreateTensorWithDataAsOrtValue, 49)
  REPLACE(GetTensorMutableData, 51)
  REPLACE(CreateMemoryInfo, 68)
  REPLACE(MemoryInfoGetName, 71)
  REPLACE(ReleaseMemoryInfo, 94)
  REPLACE(ReleaseSession, 95)
  REPLACE(ReleaseValue, 96)
  REPLACE(RunWithBinding, 133)
  REPLACE(ReleaseIoBinding, 135)
  REPLACE(BindInput, 136)
  REPLACE(BindOutput, 137)
  REPLACE(BindOutputToDevice, 138)
  REPLACE(GetBoundOutputValues, 140)
  REPLACE(GetTensorMemoryInfo, 194)
  REPLACE(SessionOptionsAppendExecutionProvider_CUDA_V2, 204)
  REPLACE(CreateCUDAProviderOptions, 205)
  REPLACE(UpdateCUDAProviderOptions, 206)
  REPLACE(ReleaseCUDAProviderOptions, 208)
  REPLACE(UpdateCUDAProviderOptionsWithValue, 263)
#undef REPLACE
  return table;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const void* OrtGetApiBase() {
  void* library = dlopen(getenv("DEVICE_ONNXRUNTIME"), RTLD_NOW | RTLD_LOCAL);
  driver = dlopen(getenv("DEVICE_CUDA"), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr || driver == nullptr) return nullptr;
  real_base = reinterpret_cast<const ApiBase* (*)()>(dlsym(library, "OrtGetApiBase"))();
  Call("cuInit", 0u);
  for (int32_t i = 0; i < 2; ++i) Call("cuDevicePrimaryCtxRetain", &contexts[i], i);
  base.GetApi = GetApi;
  base.GetVersionString = real_base->GetVersionString;
  return &base;
}
