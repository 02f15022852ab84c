// Memory shared with other processes. JavaScript thread.
#include <string.h>

#include "../bindings.h"
#include "context.h"
#include "ipc.h"
#include "memory.h"

namespace dlpack::cuda {

static_assert(sizeof(ShareRequest::ipc_handle) == sizeof(IpcHandle), "messages carry whole handles");

static IpcHandle ReadHandle(const uint64_t* words) {
  IpcHandle handle;
  memcpy(&handle, words, sizeof(handle));
  return handle;
}

napi_value AllocateShareableBinding(napi_env env, napi_callback_info info) {
  CudaContext* self = ContextOf(env, info);
  ShareableAllocation* message = MessageOf<ShareableAllocation>(self);
  Device* device = DeviceOf(message);
  if (device == nullptr) return nullptr;
  if (!IsSize(message->nbytes)) {
    message->status = kInvalidValue;
    return nullptr;
  }
  Storage* storage = AllocateShareable(device, static_cast<uint64_t>(message->nbytes), &message->status);
  if (storage != nullptr) HoldIn(self, storage, false, message);
  return nullptr;
}

napi_value ShareMemoryBinding(napi_env env, napi_callback_info info) {
  CudaContext* self = ContextOf(env, info);
  ShareRequest* message = MessageOf<ShareRequest>(self);
  message->is_shareable = 0;
  const Device* device = DeviceOf(message);
  Storage* storage = device == nullptr ? nullptr : StorageOf(self, message);
  if (storage == nullptr) return nullptr;
  ContextScope scope(device);
  SharedRange range;
  const Address address = reinterpret_cast<Address>(storage->data);
  message->status = DescribeMemory(address, &range);
  if (message->status != kSuccess || !range.is_shareable) return nullptr;
  memcpy(message->ipc_handle, &range.handle, sizeof(range.handle));
  message->process = range.process;
  message->size = static_cast<double>(range.size);
  message->offset = static_cast<double>(address - range.start);
  message->ordinal = range.ordinal;
  message->is_shareable = 1;
  return nullptr;
}

napi_value ShareEventBinding(napi_env env, napi_callback_info info) {
  return OnDevice<ShareEventRequest>(env, info, [](auto* message, const Device*) {
    IpcHandle handle = {};
    const Result result = driver.IpcGetEventHandle(&handle, EventOf(message));
    memcpy(message->ipc_handle, &handle, sizeof(handle));
    return result;
  });
}

napi_value OpenMemoryBinding(napi_env env, napi_callback_info info) {
  CudaContext* self = ContextOf(env, info);
  OpenRequest* message = MessageOf<OpenRequest>(self);
  message->outcome = 0;
  const Device* device = DeviceOf(message);
  if (device == nullptr || !IsSize(message->offset) || !IsSize(message->nbytes)) return nullptr;
  if (message->process == ProcessId()) {
    message->outcome = 2;
    return nullptr;
  }
  Storage* storage =
      OpenMemory(device, ReadHandle(message->ipc_handle), message->process, static_cast<uint64_t>(message->offset),
                 static_cast<uint64_t>(message->nbytes), &message->status);
  if (storage == nullptr) return nullptr;
  HoldIn(self, storage, false, message);
  message->outcome = message->status == kSuccess;
  return nullptr;
}

napi_value FollowEventBinding(napi_env env, napi_callback_info info) {
  return OnStorage<FollowEventRequest>(env, info, [](Storage* storage, const StreamRef& stream, auto* message) {
    return FollowEvent(storage, stream, ReadHandle(message->ipc_handle));
  });
}

}  // namespace dlpack::cuda
