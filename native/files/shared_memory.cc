// Host memory shared with other processes. The bindings take ordinary arguments instead of messages, because a system
// call costs more than a Node-API value.
#include "../bindings.h"
#include "../platform/platform.h"

namespace dlpack {

// Any thread. `owner_id` is the file descriptor of the memory plus one.
static void DestroyShared(Storage* self) {
  Count(counts.bytes, -static_cast<int64_t>(self->nbytes));
  Count(counts.storages, -1);
  platform::CloseSharedMemory(self->data, self->nbytes, static_cast<int>(self->owner_id) - 1);
  FreeStorage(self);
}

// Any thread.
static void DestroyOpened(Storage* self) {
  Count(counts.imports, -1);
  platform::CloseSharedMemory(self->data, self->nbytes, -1);
  FreeStorage(self);
}

static const size_t kMaxArguments = 6;

// The arguments of a call: numbers, except the last argument, which is a Float64Array for the result.
struct Call {
  Instance* self;
  double numbers[kMaxArguments];
  double* result;
};

static bool ReadCall(napi_env env, napi_callback_info info, size_t count, Call* call) {
  napi_value arguments[kMaxArguments];
  size_t given = count;
  void* data = nullptr;
  napi_get_cb_info(env, info, &given, arguments, nullptr, &data);
  call->self = static_cast<Instance*>(data);
  for (size_t i = 0; i + 1 < count; ++i) {
    if (napi_get_value_double(env, arguments[i], &call->numbers[i]) != napi_ok || !IsSize(call->numbers[i]))
      return false;
  }
  napi_typedarray_type type;
  size_t room = 0;
  void* result = nullptr;
  const napi_status status =
      napi_get_typedarray_info(env, arguments[count - 1], &type, &room, &result, nullptr, nullptr);
  call->result = static_cast<double*>(result);
  return status == napi_ok && type == napi_float64_array && room >= 3;
}

static napi_value TextOf(napi_env env, const char* problem) {
  if (problem == nullptr) return nullptr;
  napi_value text = nullptr;
  napi_create_string_utf8(env, problem, NAPI_AUTO_LENGTH, &text);
  return text;
}

// createShared(nbytes, result): writes the handle, the file descriptor and its number to `result`, or returns the name
// of the error.
napi_value CreateShared(napi_env env, napi_callback_info info) {
  Call call;
  if (!ReadCall(env, info, 2, &call)) return TextOf(env, "EINVAL");
  const uint64_t nbytes = static_cast<uint64_t>(call.numbers[0]);
  void* data = nullptr;
  int file = -1;
  uint64_t number = 0;
  const char* problem = platform::CreateSharedMemory(nbytes, &data, &file, &number);
  if (problem != nullptr) return TextOf(env, problem);
  Storage* storage = WrapStorage(data, nbytes, DestroyShared, nullptr, static_cast<uint64_t>(file) + 1);
  if (storage == nullptr) {
    platform::CloseSharedMemory(data, nbytes, file);
    return TextOf(env, "ENOMEM");
  }
  Count(counts.storages, 1);
  Count(counts.bytes, static_cast<int64_t>(nbytes));
  const uint32_t handle = Hold(call.self, storage, true);
  if (handle == 0) return TextOf(env, "ENOMEM");
  call.result[0] = handle;
  call.result[1] = file;
  call.result[2] = static_cast<double>(number);
  return nullptr;
}

// openShared(process, file, number, nbytes, isWritable, result): writes the handle to `result`, or returns the name of
// the error.
napi_value OpenShared(napi_env env, napi_callback_info info) {
  Call call;
  if (!ReadCall(env, info, 6, &call) || call.numbers[0] > UINT32_MAX || call.numbers[1] > INT32_MAX) {
    return TextOf(env, "EINVAL");
  }
  const uint64_t nbytes = static_cast<uint64_t>(call.numbers[3]);
  void* data = nullptr;
  const char* problem =
      platform::OpenSharedMemory(static_cast<uint32_t>(call.numbers[0]), static_cast<int>(call.numbers[1]),
                                 static_cast<uint64_t>(call.numbers[2]), nbytes, call.numbers[4] != 0, &data);
  if (problem != nullptr) return TextOf(env, problem);
  Storage* storage = WrapStorage(data, nbytes, DestroyOpened, nullptr, 0);
  if (storage == nullptr) {
    platform::CloseSharedMemory(data, nbytes, -1);
    return TextOf(env, "ENOMEM");
  }
  Count(counts.imports, 1);
  const uint32_t handle = Hold(call.self, storage, false);
  if (handle == 0) return TextOf(env, "ENOMEM");
  call.result[0] = handle;
  return nullptr;
}

}  // namespace dlpack
