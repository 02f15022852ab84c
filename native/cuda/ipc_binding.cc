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

static void AllocateShareableBinding(CudaContext* self, ShareableAllocation* message) {
  Device* device = DeviceOf(message);
  if (device == nullptr) return;
  if (!IsSize(message->nbytes)) {
    message->status = kInvalidValue;
    return;
  }
  Storage* storage = AllocateShareable(device, static_cast<uint64_t>(message->nbytes), &message->status);
  if (storage != nullptr) HoldIn(self, storage, false, message);
}

static void ShareMemoryBinding(CudaContext* self, ShareRequest* message) {
  message->is_shareable = 0;
  const Device* device = DeviceOf(message);
  Storage* storage = device == nullptr ? nullptr : StorageOf(self, message);
  if (storage == nullptr) return;
  ContextScope scope(device);
  SharedRange range;
  const Address address = reinterpret_cast<Address>(storage->data);
  message->status = DescribeMemory(address, &range);
  if (message->status != kSuccess || !range.is_shareable) return;
  memcpy(message->ipc_handle, &range.handle, sizeof(range.handle));
  message->process = range.process;
  message->size = static_cast<double>(range.size);
  message->offset = static_cast<double>(address - range.start);
  message->ordinal = range.ordinal;
  message->is_shareable = 1;
}

static Result ShareEventBinding(ShareEventRequest* message, const Device*) {
  IpcHandle handle = {};
  const Result result = driver.IpcGetEventHandle(&handle, EventOf(message));
  memcpy(message->ipc_handle, &handle, sizeof(handle));
  return result;
}

static void OpenMemoryBinding(CudaContext* self, OpenRequest* message) {
  message->outcome = 0;
  const Device* device = DeviceOf(message);
  if (device == nullptr || !IsSize(message->offset) || !IsSize(message->nbytes)) return;
  if (message->process == ProcessId()) {
    message->outcome = 2;
    return;
  }
  Storage* storage =
      OpenMemory(device, ReadHandle(message->ipc_handle), message->process, static_cast<uint64_t>(message->offset),
                 static_cast<uint64_t>(message->nbytes), &message->status);
  if (storage == nullptr) return;
  HoldIn(self, storage, false, message);
  message->outcome = message->status == kSuccess;
}

static Result FollowEventBinding(Storage* storage, const StreamRef& stream, FollowEventRequest* message) {
  return FollowEvent(storage, stream, ReadHandle(message->ipc_handle));
}

const NamedFunction kIpcFunctions[] = {
    {"allocateShareable", Binding<AllocateShareableBinding>::Call}, {"shareMemory", Binding<ShareMemoryBinding>::Call},
    {"shareEvent", DeviceBinding<ShareEventBinding>::Call},         {"openMemory", Binding<OpenMemoryBinding>::Call},
    {"followEvent", StorageBinding<FollowEventBinding>::Call},      {}};

}  // namespace dlpack::cuda
