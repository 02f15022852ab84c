// Memory for and of other processes. Arguments and results are in the frame. JavaScript thread.
#include <string.h>

#include "../bindings.h"
#include "context.h"
#include "ipc.h"
#include "memory.h"

namespace dlpack {
namespace cuda {

static_assert(sizeof(CudaFrame::values) == sizeof(IpcHandle), "handles travel in the values of the frame");

static IpcHandle HandleIn(const CudaFrame* frame) {
  IpcHandle handle;
  memcpy(&handle, frame->values, sizeof(handle));
  return handle;
}

// Puts a new storage into the table, its number into `handle`.
static void HoldStorage(CudaContext* self, Storage* storage) {
  self->frame->handle = Hold(self->instance, storage, false);
  if (self->frame->handle == 0) self->frame->status = kOutOfDeviceMemory;
}

napi_value AllocateShareableBinding(napi_env env, napi_callback_info info) {
  CudaContext* self = ContextOf(env, info);
  CudaFrame* frame = self->frame;
  Device* device = DeviceOf(frame);
  if (device == nullptr) return nullptr;
  frame->status = kInvalidValue;
  if (!IsSize(frame->nbytes)) return nullptr;
  Storage* storage = AllocateShareable(device, static_cast<uint64_t>(frame->nbytes), &frame->status);
  if (storage != nullptr) HoldStorage(self, storage);
  return nullptr;
}

// What another process needs to open the allocation around the storage in `handle`. Out: the driver's handle in
// `values`, the owner in `address`, the allocation's size in `nbytes`, where the storage starts in it in `number`, its
// device in `device`; `flags`: 1 if all was done, 0 for memory that others cannot open.
napi_value ShareMemoryBinding(napi_env env, napi_callback_info info) {
  CudaContext* self = ContextOf(env, info);
  CudaFrame* frame = self->frame;
  const Device* device = DeviceOf(frame);
  if (device == nullptr) return nullptr;
  frame->flags = 0;
  Storage* storage = GetHeld(self->instance, frame->handle);
  if (storage == nullptr) {
    frame->status = kInvalidHandle;
    return nullptr;
  }
  ContextScope scope(device);
  SharedRange range;
  const Address address = reinterpret_cast<Address>(storage->data);
  frame->status = DescribeMemory(address, &range);
  if (frame->status != kSuccess || !range.is_shareable) return nullptr;
  memcpy(frame->values, &range.handle, sizeof(range.handle));
  frame->address = range.process;
  frame->nbytes = static_cast<double>(range.size);
  frame->number = static_cast<double>(address - range.start);
  frame->device = range.ordinal;
  frame->flags = 1;
  return nullptr;
}

// The handle of the event in `event`, into `values`.
napi_value ShareEventBinding(napi_env env, napi_callback_info info) {
  return OnDevice(env, info, [](CudaFrame* frame, const Device*) {
    IpcHandle handle = {};
    const Result result = driver.IpcGetEventHandle(&handle, reinterpret_cast<EventHandle>(frame->event));
    memcpy(frame->values, &handle, sizeof(handle));
    return result;
  });
}

// A storage over `nbytes` bytes at `number` of the memory whose handle is in `values`, of the process in `address`;
// `flags`: 1 if all was done, 0 if the memory does not reach so far, 2 if it is our own.
napi_value OpenMemoryBinding(napi_env env, napi_callback_info info) {
  CudaContext* self = ContextOf(env, info);
  CudaFrame* frame = self->frame;
  const Device* device = DeviceOf(frame);
  if (device == nullptr) return nullptr;
  frame->flags = 0;
  if (!IsSize(frame->number) || !IsSize(frame->nbytes)) return nullptr;
  if (frame->address == ProcessId()) {
    frame->flags = 2;
    return nullptr;
  }
  Storage* storage = OpenMemory(device, HandleIn(frame), frame->address, static_cast<uint64_t>(frame->number),
                                static_cast<uint64_t>(frame->nbytes), &frame->status);
  if (storage == nullptr) return nullptr;
  HoldStorage(self, storage);
  frame->flags = frame->status == kSuccess;
  return nullptr;
}

// Work on the storage in `handle` starts after the event whose handle is in `values`; `stream` waits for it.
napi_value FollowEventBinding(napi_env env, napi_callback_info info) {
  CudaContext* self = ContextOf(env, info);
  CudaFrame* frame = self->frame;
  const Device* device = DeviceOf(frame);
  Storage* storage = device == nullptr ? nullptr : GetHeld(self->instance, frame->handle);
  if (device == nullptr) return nullptr;
  frame->status = storage == nullptr ? static_cast<Result>(kInvalidHandle)
                                     : FollowEvent(storage, StreamRef{device, StreamOf(frame)}, HandleIn(frame));
  return nullptr;
}

}  // namespace cuda
}  // namespace dlpack
