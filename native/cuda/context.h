// What one JavaScript environment has of CUDA: the frame that carries its calls, and the streams and events it made.
#ifndef DLPACK_NODE_CUDA_CONTEXT_H_
#define DLPACK_NODE_CUDA_CONTEXT_H_

#include "../wire.h"
#include "streams.h"

namespace dlpack {
namespace cuda {

// src/cuda/frame.ts is its twin.
struct CudaFrame {
  uint64_t address;
  uint64_t stream;
  uint64_t event;
  double nbytes;
  int32_t status;  // CUresult
  int32_t device;
  uint32_t handle;  // of a storage
  uint32_t flags;
  int32_t kind;
  int32_t priority;
  double number;
  uint64_t values[8];
  uint32_t source_handle;
  uint32_t target_handle;
  int32_t source_kind;  // DLDeviceType
  int32_t target_kind;
  double source_offset;
  double target_offset;
  double item;
  int32_t ndim;
  int32_t unused;
  double shape[kMaxNdim];
  double source_steps[kMaxNdim];
  double target_steps[kMaxNdim];
};

static_assert(offsetof(CudaFrame, status) == 32 && offsetof(CudaFrame, number) == 56 &&
                  offsetof(CudaFrame, values) == 64 && offsetof(CudaFrame, source_handle) == 128 &&
                  offsetof(CudaFrame, item) == 160 && offsetof(CudaFrame, shape) == 176 &&
                  offsetof(CudaFrame, target_steps) == 1200 && sizeof(CudaFrame) == 1712,
              "src/cuda/frame.ts has these offsets");

// An event that JavaScript made. Those who wait for it keep it, too.
struct Event {
  std::atomic<uint32_t> refs;
  EventHandle handle;
  const Device* device;
};

// A stream or an event that JavaScript holds. The end of the environment gives them back.
struct Owned {
  Owned* before;
  Owned* next;
  Stream* stream;  // or
  Event* event;
};

struct CudaContext {
  Instance* instance;
  CudaFrame* frame;
  napi_ref frame_ref;
  Owned owned;  // head of the ring
};

inline CudaContext* ContextOf(napi_env env, napi_callback_info info) {
  void* data = nullptr;
  napi_get_cb_info(env, info, nullptr, nullptr, nullptr, &data);
  return static_cast<CudaContext*>(data);
}

inline StreamHandle StreamOf(const CudaFrame* frame) {
  return Normalize(reinterpret_cast<StreamHandle>(frame->stream));
}

// The device of the frame; NULL with the reason in its status.
inline Device* DeviceOf(CudaFrame* frame) {
  Result result;
  Device* device = GetDevice(frame->device, &result);
  frame->status = result;
  return device;
}

// Makes the device of the frame current, and what `action(frame, device)` returns its status.
template <class Action>
napi_value OnDevice(napi_env env, napi_callback_info info, Action action) {
  CudaFrame* frame = ContextOf(env, info)->frame;
  const Device* device = DeviceOf(frame);
  if (device == nullptr) return nullptr;
  ContextScope scope(device);
  frame->status = action(frame, device);
  return nullptr;
}

Owned* AddOwned(CudaContext* self, Stream* stream, Event* event);
void ReleaseOwned(Owned* owned);

// Any thread.
void ReleaseEvent(Event* event);

// JavaScript thread, all of them; arguments and results in the frame.
// memory_binding.cc
napi_value AllocateBinding(napi_env env, napi_callback_info info);
napi_value ClearBinding(napi_env env, napi_callback_info info);
napi_value CopyBinding(napi_env env, napi_callback_info info);
napi_value CopyAsyncBinding(napi_env env, napi_callback_info info);
napi_value HandOverBinding(napi_env env, napi_callback_info info);
napi_value PointerAttributesBinding(napi_env env, napi_callback_info info);
// array_binding.cc
napi_value AdmitBinding(napi_env env, napi_callback_info info);
napi_value FollowBinding(napi_env env, napi_callback_info info);
// ipc_binding.cc
napi_value AllocateShareableBinding(napi_env env, napi_callback_info info);
napi_value ShareMemoryBinding(napi_env env, napi_callback_info info);
napi_value ShareEventBinding(napi_env env, napi_callback_info info);
napi_value OpenMemoryBinding(napi_env env, napi_callback_info info);
napi_value FollowEventBinding(napi_env env, napi_callback_info info);
// stream_binding.cc
napi_value CreateStreamBinding(napi_env env, napi_callback_info info);
napi_value CreateEventBinding(napi_env env, napi_callback_info info);
napi_value ReleaseOwnedBinding(napi_env env, napi_callback_info info);
napi_value SetCurrentBinding(napi_env env, napi_callback_info info);
napi_value SynchronizeBinding(napi_env env, napi_callback_info info);
napi_value QueryBinding(napi_env env, napi_callback_info info);
napi_value RecordBinding(napi_env env, napi_callback_info info);
napi_value WaitBinding(napi_env env, napi_callback_info info);
napi_value OrderBinding(napi_env env, napi_callback_info info);
napi_value ElapsedBinding(napi_env env, napi_callback_info info);
napi_value IsCapturingBinding(napi_env env, napi_callback_info info);
napi_value WatchBinding(napi_env env, napi_callback_info info);

}  // namespace cuda
}  // namespace dlpack

#endif  // DLPACK_NODE_CUDA_CONTEXT_H_
