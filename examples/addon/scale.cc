// An addon that knows DLPack and nothing of the npm package but its header: it takes a tensor, doubles it in place and
// hands it back. Nothing is copied.
#include <dlpack/dlpack.h>
#include <dlpack_napi.h>

// scale(external): JavaScript thread.
static napi_value Scale(napi_env env, napi_callback_info info) {
  napi_value value;
  size_t count = 1;
  napi_get_cb_info(env, info, &count, &value, nullptr, nullptr);

  DLManagedTensorVersioned* managed = nullptr;
  if (dlpack_napi_take(env, value, &managed) != napi_ok || managed == nullptr) {
    napi_throw_type_error(env, "EINVAL", "Expected a DLPack external that was not consumed yet");
    return nullptr;
  }
  const DLTensor& tensor = managed->dl_tensor;
  const bool usable = managed->version.major == DLPACK_MAJOR_VERSION && tensor.device.device_type == kDLCPU &&
                      tensor.ndim == 1 && tensor.dtype.code == 2 && tensor.dtype.bits == 32 &&
                      tensor.dtype.lanes == 1 && (managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY) == 0;
  if (!usable) {
    if (managed->deleter != nullptr) managed->deleter(managed);
    napi_throw_type_error(env, "EINVAL", "Expected a writable float32 vector in host memory");
    return nullptr;
  }
  float* data = reinterpret_cast<float*>(static_cast<char*>(tensor.data) + tensor.byte_offset);
  // Before DLPack 1.2 a contiguous tensor may come without strides.
  const int64_t stride = tensor.strides == nullptr ? 1 : tensor.strides[0];
  for (int64_t i = 0; i < tensor.shape[0]; ++i) data[i * stride] *= 2;

  napi_value result = nullptr;
  if (dlpack_napi_create(env, managed, &result) != napi_ok && managed->deleter != nullptr) managed->deleter(managed);
  return result;
}

NAPI_MODULE_INIT() {
  napi_value scale;
  napi_create_function(env, "scale", NAPI_AUTO_LENGTH, Scale, nullptr, &scale);
  napi_set_named_property(env, exports, "scale", scale);
  return exports;
}
