#include "session_device.h"

#include <string.h>

namespace dlpack::onnxruntime {

namespace {

const char kCudaMemory[] = "Cuda";  // the library's name for memory of a CUDA device

// The library copies an input that a kernel reads on the host at once, on the legacy default stream. Work on a
// non-blocking stream is not ordered with that stream, so this thread waits for it.
bool WaitForInputs(const SessionDevice& device, Failure* failure) {
  if (device.stream == cuda::kLegacyStream) return true;
  cuda::Result result;
  const cuda::Device* there = cuda::GetDevice(device.id, &result);
  if (there != nullptr) {
    cuda::RelaxedContextScope scope(there);
    result = cuda::driver.StreamSynchronize(device.stream);
  }
  if (result != cuda::kSuccess) failure->Set(kFailed, "the stream of the session failed");
  return result == cuda::kSuccess;
}

bool Bind(OrtIoBinding* binding, const SessionDevice& device, const RunArguments& arguments, Failure* failure) {
  for (uint32_t i = 0; i < arguments.input_count; ++i) {
    if (failure->Take(library.BindInput(binding, arguments.input_names[i], arguments.inputs[i]))) return false;
  }
  for (uint32_t i = 0; i < arguments.output_count; ++i) {
    const char* name = arguments.output_names[i];
    const Place place = arguments.places[i];
    OrtStatus* status =
        place == Place::kGiven
            ? library.BindOutput(binding, name, arguments.outputs[i])
            : library.BindOutputToDevice(binding, name, place == Place::kDevice ? device.memory : library.host);
    if (failure->Take(status)) return false;
  }
  return true;
}

// The library returns all outputs, in the order in which they were bound.
void TakeOutputs(const OrtIoBinding* binding, const RunArguments& arguments, Failure* failure) {
  OrtValue** values = nullptr;
  size_t count = 0;
  if (failure->Take(library.GetBoundOutputValues(binding, library.strings, &values, &count))) return;
  for (size_t i = 0; i < count; ++i) {
    if (i < arguments.output_count && arguments.places[i] != Place::kGiven) {
      arguments.outputs[i] = values[i];
    } else {
      library.ReleaseValue(values[i]);
    }
  }
  Failure ignored = {};
  if (values != nullptr) ignored.Take(library.AllocatorFree(library.strings, values));
}

}  // namespace

void OpenDevice(int32_t id, uint64_t stream, SessionDevice* device, Failure* failure) {
  device->id = id;
  if (id < 0) return;
  device->stream = reinterpret_cast<cuda::StreamHandle>(static_cast<uintptr_t>(stream));
  device->kept = cuda::FindStream(device->stream);
  failure->Take(library.CreateMemoryInfo(kCudaMemory, kDeviceAllocator, id, kDefaultMemory, &device->memory));
}

void ReleaseDevice(SessionDevice* device) {
  if (device->memory != nullptr) library.ReleaseMemoryInfo(device->memory);
  if (device->kept != nullptr) cuda::ReleaseStream(device->kept);
}

bool IsOnDevice(const SessionDevice& device, const OrtValue* value, Failure* failure) {
  if (device.memory == nullptr) return false;
  const OrtMemoryInfo* memory = nullptr;
  const char* name = "";
  if (failure->Take(library.GetTensorMemoryInfo(value, &memory))) return false;
  if (failure->Take(library.MemoryInfoGetName(memory, &name))) return false;
  return strcmp(name, kCudaMemory) == 0;
}

void RunOnDevice(OrtSession* session, const OrtRunOptions* options, const SessionDevice& device,
                 const RunArguments& arguments, Failure* failure) {
  OrtIoBinding* binding = nullptr;
  if (!WaitForInputs(device, failure) || failure->Take(library.CreateIoBinding(session, &binding))) return;
  if (Bind(binding, device, arguments, failure) && !failure->Take(library.RunWithBinding(session, options, binding))) {
    TakeOutputs(binding, arguments, failure);
  }
  library.ReleaseIoBinding(binding);
}

}  // namespace dlpack::onnxruntime
