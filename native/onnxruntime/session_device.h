// SessionDevice: the CUDA device of a session, whose memory its runs take and return, and the stream of its kernels.
#pragma once

#include "../cuda/streams/stream.h"
#include "failure.h"

namespace dlpack::onnxruntime {

struct SessionDevice {
  int32_t id;             // -1: runs take and return host memory only
  OrtMemoryInfo* memory;  // describes memory of the device; NULL without a device
  cuda::StreamHandle stream;
  cuda::Stream* kept;  // keeps the stream alive if this package made it
};

// A device with this number, or none for -1. JavaScript thread.
void OpenDevice(int32_t id, uint64_t stream, SessionDevice* device, Failure* failure);

// Any thread.
void ReleaseDevice(SessionDevice* device);

// Whether a tensor of the library lies in memory of the device.
bool IsOnDevice(const SessionDevice& device, const OrtValue* value, Failure* failure);

// Where an output of a run goes.
enum class Place : uint8_t { kHost = 1, kGiven = 2, kDevice = 3 };

// What a run takes and returns. A run fills the outputs that were not given.
struct RunArguments {
  const char* const* input_names;
  OrtValue* const* inputs;
  uint32_t input_count;
  const char* const* output_names;
  OrtValue** outputs;
  const Place* places;
  uint32_t output_count;
};

// A run whose outputs the library may allocate on the device. An ordinary run would copy them to the host. Any thread.
void RunOnDevice(OrtSession* session, const OrtRunOptions* options, const SessionDevice& device,
                 const RunArguments& arguments, Failure* failure);

}  // namespace dlpack::onnxruntime
