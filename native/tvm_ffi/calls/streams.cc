// The stream of a device, per thread.
#include "../context.h"

namespace dlpack::tvm_ffi {

// setStream(deviceType, deviceId, stream): makes a stream the current stream of the device on this thread. Returns the
// previous stream; undefined with an error raised.
static napi_value SetStream(Context*, napi_env env, int32_t type, int32_t id, TVMFFIStreamHandle stream) {
  TVMFFIStreamHandle before = nullptr;
  if (library.EnvSetStream(type, id, stream, &before) != 0) return nullptr;
  return NewBigInt(env, reinterpret_cast<uint64_t>(before));
}

// getStream(deviceType, deviceId)
static uint64_t GetStream(Context*, napi_env, int32_t type, int32_t id) {
  return reinterpret_cast<uint64_t>(library.EnvGetStream(type, id));
}

const NamedFunction kStreamsFunctions[] = {
    {"setStream", Binding<SetStream>::Call}, {"getStream", Binding<GetStream>::Call}, {}};

}  // namespace dlpack::tvm_ffi
